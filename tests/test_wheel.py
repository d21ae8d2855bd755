"""The wheel contains all files of the package, and the installed gpuc compiles without a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


def run(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_and_compiles(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")  # the oldest that reads our pyproject.toml
    source, fleet, installed = (tmp_path / name for name in ("source", "fleet", "installed"))
    shutil.copytree(ROOT / "compiler", source / "compiler", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / file, source / file)
    run(source, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), ".")
    (wheel,) = tmp_path.glob("gpuc-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(installed)
    files = {path.relative_to(source / "compiler").as_posix() for path in (source / "compiler/gpuc").rglob("*.*")}
    assert {file for file in files if not (installed / file).exists()} == set()
    shutil.copytree(ROOT / "specs", fleet / "specs")
    run(fleet, "-m", "gpuc.cli.main", "compile", PYTHONPATH=str(installed), XDG_CACHE_HOME=str(tmp_path / "cache"))
    examples = "from gpuc.policy.library import policies; from gpuc.rehearse.examples import examples; "
    examples += "print(all(map(examples, policies().values())))"
    assert run(fleet, "-c", examples, PYTHONPATH=str(installed)) == "True\n"
