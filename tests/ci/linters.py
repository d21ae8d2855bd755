"""Runs actionlint and zizmor on the workflows of this repository and of a new fleet: `python -m tests.ci.linters`.

Go builds actionlint from the module that tests/ci/actionlint/go.sum pins. The package of actionlint for pip downloads a
binary that no checksum of pip covers.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuc.cli.init import fleet_files
from gpuc.cli.init_settings import Settings
from tests.conftest import ROOT

BIN = Path(sys.executable).parent
PINS = Path(__file__).parent / "actionlint"


def actionlint() -> Path | None:
    """The program of the pinned version, which is built if it is missing; None without Go."""
    version = next(
        line.split()[1] for line in (PINS / "go.mod").read_text().splitlines() if "rhysd/actionlint v" in line
    )
    program = BIN / f"actionlint-{version}"
    if not program.exists():
        if shutil.which("go") is None:
            return None
        package = "github.com/rhysd/actionlint/cmd/actionlint"
        command = ["go", "build", "-C", str(PINS), "-mod=readonly", "-trimpath", "-o", str(program), package]
        subprocess.run(command, check=True, env=os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"})
    return program


def write_fleet(folder: Path) -> None:
    """Writes a new fleet, and makes it a Git repository: actionlint finds local actions from the top."""
    for file, text in fleet_files(Settings(requirement="gpuc==0.1.0")).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)


def problems(folder: Path, *, program: Path | None) -> Iterator[str]:
    """The reports of both linters about the workflows and actions in the folder .github of a repository."""
    actions = sorted(file for file in (folder / ".github").rglob("*.y*ml"))
    workflows = [str(file) for file in actions if file.parent.name == "workflows"]
    assert workflows
    commands = [[str(BIN / "zizmor"), "--quiet", "--no-progress", "--offline", "--no-config", *map(str, actions)]]
    if program is not None:
        shellcheck = shutil.which("shellcheck", path=f"{BIN}:{os.environ['PATH']}")
        assert shellcheck is not None
        commands.append([str(program), "-no-color", "-shellcheck", shellcheck, *workflows])
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"{Path(command[0]).name}:\n{done.stdout}{done.stderr}"


def main() -> int:
    """Prints the reports, and returns 1 if a linter reports something."""
    program = actionlint()
    if program is None:
        print("actionlint was not run: Go is not installed", file=sys.stderr)
        if os.environ.get("CI"):
            return 1
    with TemporaryDirectory() as fleet:
        write_fleet(Path(fleet))
        found = [report for folder in (ROOT, Path(fleet)) for report in problems(folder, program=program)]
    print("\n".join(found) or "actionlint and zizmor report nothing" if program else "zizmor reports nothing")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
