"""The wheels contain all files of the packages, and work outside of a checkout: README's first minute, all commands,
and the CI workflow of a new fleet.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from gpuc_rehearsal.tools.selection import OTHERS, REHEARSAL
from tests.ci.hosting import USER, Hosting
from tests.ci.runner import Machine, Run, fresh_python, pip_settings, require_programs, results, without_programs
from tests.ci.sources import copied_sources
from tests.conftest import ROOT

pytestmark = pytest.mark.slow
PACKAGES = {"gpuc": ROOT / "compiler", "gpuc_rehearsal": ROOT / "rehearsal"}
"""The folders of the packages."""


def run(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent)} | pip_settings() | USER | environment,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distributions, and with the wheels that were built from the source distributions."""
    for module in ("build", "twine"):
        pytest.importorskip(module)
    if int(metadata.version("setuptools").partition(".")[0]) < 77:  # an import fails if a test imported distutils
        pytest.skip("setuptools is older than 77, the oldest that reads our pyproject.toml")
    folder = tmp_path_factory.mktemp("dist")
    for source in copied_sources(tmp_path_factory.mktemp("source")):
        run(source, sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), ".")
    return folder


@pytest.mark.parametrize(
    ("package", "deep"),
    [("gpuc", "cli/template/common/.gitignore"), ("gpuc_rehearsal", "tools/programs/argocd/helm/go.sum")],
)
def test_the_wheel_contains_every_file_of_the_package(
    package: str, deep: str, distributions: Path, tmp_path: Path
) -> None:
    (wheel,) = distributions.glob(f"{package}-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path)
    ignored = ("__pycache__", ".egg-info")
    files = {
        path.relative_to(PACKAGES[package]).as_posix()
        for path in (PACKAGES[package] / package).rglob("*")
        if path.is_file() and not any(part in path.as_posix() for part in ignored)
    }
    assert f"{package}/{deep}" in files
    assert {file for file in files if not (tmp_path / file).exists()} == set()
    assert list(tmp_path.rglob("licenses/LICENSE")) != []


def test_an_upload_to_a_package_index_would_be_accepted(distributions: Path) -> None:
    files = [str(file) for file in sorted(distributions.iterdir())]
    assert len(files) == 4
    assert (
        run(distributions, sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files).count("PASSED")
        == 4
    )


def test_the_installed_gpuc_works_without_a_checkout(
    distributions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test, because each installation takes ten CPU seconds. Without the programs, all but the rehearsal runs."""
    monkeypatch.delenv("GPUC_TOOLS", raising=False)
    for wheel in distributions.glob("*.whl"):
        shutil.copy(wheel, tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    run(tmp_path, "bash", "-euc", "\n".join(commands_of_readme("Install", "Quick start")), PATH=path)
    fleet = tmp_path / "fleet"
    assert run(fleet, "git", "ls-files", "wheels").count(".whl") == 2
    path = f"{tmp_path / '.venv' / 'bin'}:{os.environ['PATH']}"
    assert run(fleet, "which", "gpuc", PATH=path).strip() == str(tmp_path / ".venv/bin/gpuc")
    check_every_command(fleet, path)
    check_workflow(fleet, tmp_path / "runner")
    require_programs()
    check_rehearsal(fleet, path)


def commands_of_readme(*headings: str) -> list[str]:
    """Returns the commands in the console blocks of sections of README.md, in their order."""
    text = (ROOT / "README.md").read_text("utf-8")
    sections = {section.partition("\n")[0]: section for section in text.split("\n## ")}
    blocks = [block for name in headings for block in re.findall(r"```console\n(.*?)```", sections[name], re.DOTALL)]
    assert len(blocks) == len(headings)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def check_every_command(fleet: Path, path: str) -> None:
    """Runs all commands of gpuc in the new fleet, except `gpuc rehearse`."""
    for command in (
        "gpuc check --fresh --strict",
        "gpuc lint out/dev-use1",
        "gpuc trace --queue research --pool l4 --gpus 4",
        "gpuc isolation",
        "gpuc explain KUE007",
        "gpuc init ../second --requirement gpuc==0.1.0 --name second",
        "gpuc tools --list",
    ):
        run(fleet, *command.split(), PATH=path)
    assert run(fleet, "gpuc", "schema", PATH=path) == (fleet / "gpuc.schema.json").read_text("utf-8")
    for selection in (REHEARSAL, *OTHERS.values()):  # the same folders as in a checkout
        where = run(fleet, *selection.command.split(), "--where", PATH=path, XDG_CACHE_HOME=str(fleet)).strip()
        assert Path(where).name == selection.home().name


def check_workflow(fleet: Path, folder: Path) -> None:
    """Runs the jobs of the CI workflow for the first commit, each in a clone. The first job installs gpuc."""
    for name in ("git", "jobs"):
        (folder / name).mkdir(parents=True)
    hosting = Hosting(folder / "git", fleet)
    python = fresh_python(folder)
    machine = Machine(hosting, folder / "jobs", lambda _: python, environment=pip_settings())
    sha = run(fleet, "git", "rev-parse", "HEAD").strip()
    context = {"event_name": "push", "event": {}, "sha": sha, "ref": "refs/heads/main", "repository": hosting.name}
    jobs = Run(machine, context, skip=without_programs).workflow("gpuc.yaml")
    assert results(jobs) == {"review": "success", "programs": "success", "rehearse": "skipped"}
    assert set(machine.artifacts) == {"gpuc-reports"}
    assert all(set(granted) == {"contents"} for granted in machine.tokens.values())


def check_rehearsal(fleet: Path, path: str) -> None:
    """Rehearses the new fleet; without the second package, a message says what to install."""
    report = run(fleet, "gpuc", "rehearse", "--case", "full node", PATH=path, GPUC_TOOLS=str(REHEARSAL.home()))
    assert re.search(r"[1-9]\d* as expected, 0 different", report), report
    run(fleet, "python", "-m", "pip", "uninstall", "--quiet", "--yes", "gpuc-rehearsal", PATH=path)
    gpuc = shutil.which("gpuc", path=path)
    alone = subprocess.run([str(gpuc), "rehearse"], cwd=fleet, capture_output=True, text=True, check=False)
    assert alone.returncode == 2
    assert alone.stderr == "gpuc: rehearse needs a package that is not installed: pip install 'gpuc[rehearse]'\n"
