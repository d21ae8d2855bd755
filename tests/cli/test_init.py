"""The fleet repository that gpuc init writes, its options and its questions."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpuc.cli.init import fleet_files, schema_text
from gpuc.cli.init_settings import Settings
from gpuc.cli.main import main
from gpuc.cli.requirement import path_of, rehearsal_requirement, requirement_problem
from gpuc.spec.cluster_network import ClusterNetwork
from tests.conftest import ROOT
from tests.tables import table

TABLE = table(__file__, "cases.yaml")
WHEEL, REHEARSAL_WHEEL = (f"./wheels/{name}-0.1.0-py3-none-any.whl" for name in ("gpuc", "gpuc_rehearsal"))
REQUIREMENT = ["--requirement", WHEEL]
HUB = ["--argocd", "hub", "--server", "https://ABC.gr7.eu-west-1.eks.amazonaws.com"]


def _files(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def test_a_new_fleet_has_a_spec_with_the_name_of_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "new fleet"
    assert main(["init", str(fleet), "--name", "lab", *REQUIREMENT]) == 0
    assert _files(fleet) == sorted(fleet_files(Settings(name="lab")))
    assert "specs/lab.yaml" in _files(fleet)
    assert (fleet / "gpuc.schema.json").read_text("utf-8") == schema_text()
    out = capsys.readouterr().out
    steps = out.partition("next:\n")[2].splitlines()
    assert steps[0] == f"  cd '{fleet}'"
    for wheel in (WHEEL, REHEARSAL_WHEEL):
        assert any(step.startswith(f"  copy the wheel to {wheel}") for step in steps)
    assert "  gpuc compile" in steps and steps[-1].startswith("  read clusters/lab/README.md")


def test_files_that_exist_are_kept_and_the_rest_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "README.md").symlink_to("nowhere")
    assert main(["init", str(tmp_path), *REQUIREMENT]) == 0
    assert (tmp_path / "README.md").read_text() == "mine"
    assert (tmp_path / ".gitignore").read_text() == "*.log\n"
    assert (tmp_path / "policies" / "README.md").is_symlink()
    assert (tmp_path / "specs" / "dev-use1.yaml").exists()
    out = capsys.readouterr().out
    assert "3 files exist and were not changed" in out
    assert "  .gitignore\n    add the line: .venv/\n  README.md\n  policies/README.md\n" in out
    assert "git init" not in out


@pytest.mark.slow
def test_a_second_run_changes_nothing_and_a_second_cluster_needs_no_requirement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", *REQUIREMENT]) == 0
    assert main(["init", *REQUIREMENT]) == 0
    assert "0 files were written" in capsys.readouterr().out
    assert main(["init", "--name", "prod-euw1", "--region", "eu-west-1", *HUB]) == 0
    assert (tmp_path / "requirements.txt").read_text() == f"{WHEEL}\n{REHEARSAL_WHEEL}\n"
    assert main(["compile", "--strict"]) == 0
    assert "2 clusters: no findings" in capsys.readouterr().out


def test_a_link_to_another_folder_is_refused_before_a_file_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "specs").symlink_to(tmp_path / "other")
    assert main(["init", str(tmp_path / "fleet"), *REQUIREMENT]) == 2
    assert "specs" in capsys.readouterr().err
    assert _files(tmp_path) == []


@pytest.mark.parametrize(("options", "messages"), TABLE["init options"])
def test_wrong_options_are_reported_and_no_file_is_written(
    options: list[str], messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requirement = [] if not options or "--requirement" in options or options == ["--argocd", "hub"] else REQUIREMENT
    assert main(["init", str(tmp_path / "fleet"), *requirement, *options]) == 2
    err = capsys.readouterr().err
    assert [message for message in messages if message not in err] == []
    assert err.count("\n") == 1
    assert not (tmp_path / "fleet").exists()


@pytest.mark.parametrize("line", TABLE["requirements"])
def test_a_requirement_installs_gpuc(line: str) -> None:
    pip = pytest.importorskip("pip._internal.req.constructors")
    assert requirement_problem(line) == ""
    if "://" in line or not path_of(line):
        assert pip.install_req_from_line(line.replace("${FILES_TOKEN}", "x")) is not None


@pytest.mark.parametrize(("line", "rehearsal"), TABLE["rehearsal requirements"].items())
def test_the_rehearsal_is_installed_from_the_place_of_gpuc(line: str, rehearsal: str) -> None:
    assert rehearsal_requirement(line) == rehearsal


def test_an_address_with_a_hash_needs_another_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "https://files.example.com/gpuc-0.1.0-py3-none-any.whl#sha256=00ff"
    assert main(["init", str(tmp_path), "--requirement", line]) == 0
    assert (tmp_path / "requirements.txt").read_text() == f"{line}\n"
    assert "add the address of gpuc-rehearsal with its hash" in capsys.readouterr().out


@pytest.mark.parametrize("line", TABLE["refused requirements"])
def test_other_lines_are_refused(line: str) -> None:
    assert requirement_problem(line) != ""


@pytest.mark.parametrize("name", ["on", "null", "true", "no", "e1", "dev-use1"])
def test_a_name_is_always_text_in_the_spec(name: str) -> None:
    spec = yaml.safe_load(fleet_files(Settings(name=name, server="https://x:"))[f"specs/{name}.yaml"])
    assert spec["metadata"]["name"] == spec["spec"]["cloud"]["aws"]["eksCluster"] == name
    assert spec["spec"]["delivery"]["destination"]["server"] == "https://x:"


def test_the_specs_of_a_fleet_name_its_schema() -> None:
    for file, text in fleet_files(Settings()).items():
        if file.startswith("specs/"):
            schema = Path(file).parent / text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
            assert os.path.normpath(schema) == "gpuc.schema.json"


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--network-policy-engine", "cilium", "--kubernetes", "1.36", "--region", "eu-central-1", *HUB],
        ["--kubernetes", "1.34", "--name", "on", "--repo", "git@git.example.com:platform/fleet.git"],
        ["--substrate", "on-premises"],
        ["--substrate", "on-premises", "--minimal", "--network-policy-engine", "cilium", *HUB],
    ],
)
def test_a_new_fleet_compiles_and_is_fresh(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", ".", *REQUIREMENT, *options]) == 0
    assert main(["compile", "--strict"]) == 0
    assert main(["check", "--fresh", "--strict"]) == 0


def test_init_offers_only_engines_of_the_spec() -> None:
    from typing import get_args

    from gpuc.cli.init_settings import ENGINES

    assert set(ENGINES) <= set(get_args(ClusterNetwork.model_fields["policy_engine"].annotation))


def on_terminal(folder: Path, answers: str, *options: str) -> tuple[int, str]:
    """Runs gpuc init on a pseudoterminal with typed answers, and returns the exit code and the output."""
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuc.cli.main", "init", str(folder), *options],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "compiler")},
    )
    os.write(control, answers.encode())
    output, _ = process.communicate()
    os.close(terminal)
    os.close(control)
    return process.returncode, output


def test_a_terminal_is_asked_for_missing_options_until_the_answers_are_correct(tmp_path: Path) -> None:
    answers = "\nLab\nlab\neu-west-1\ncilium\nhub\nhttps://abc.example.com\n\nother==1\ngpuc==0.1.0\n"
    code, output = on_terminal(tmp_path / "fleet", answers, "--kubernetes", "1.36")
    assert code == 0, output
    assert "The name of the cluster and of its spec\n" in output and "[dev-use1]: " in output
    assert "The version of Kubernetes" not in output
    spec = yaml.safe_load((tmp_path / "fleet" / "specs" / "lab.yaml").read_text())["spec"]
    assert spec["kubernetes"] == "1.36"
    assert (spec["cloud"]["aws"]["region"], spec["network"]["policyEngine"]) == ("eu-west-1", "cilium")
    assert spec["delivery"]["destination"]["server"] == "https://abc.example.com"
    assert (tmp_path / "fleet" / "requirements.txt").read_text() == "gpuc==0.1.0\ngpuc-rehearsal==0.1.0\n"


def test_a_terminal_is_asked_only_for_settings_that_the_substrate_has(tmp_path: Path) -> None:
    code, output = on_terminal(tmp_path / "fleet", "on-premises\n\n\n\n\n", *REQUIREMENT)
    assert code == 0, output
    assert "[lab-dc1]: " in output and "region" not in output and "NetworkPolicies" not in output
    spec = yaml.safe_load((tmp_path / "fleet" / "specs" / "lab-dc1.yaml").read_text())["spec"]
    assert (list(spec["cloud"]), spec["network"]["policyEngine"]) == (["onPremises"], "cilium")


def test_a_terminal_that_is_closed_leaves_no_file(tmp_path: Path) -> None:
    code, output = on_terminal(tmp_path / "fleet", "on-premises\n\x04")
    assert code == 2
    assert "the questions were not answered; no file was written" in output
    assert not (tmp_path / "fleet").exists()
