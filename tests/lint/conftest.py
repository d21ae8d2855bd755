"""What tests of imported kinds share."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.cli.crds_command import run_crds


@pytest.fixture(scope="session")
def upstream(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every definition of the reference data, imported once; the folders of programs one by one."""
    into = tmp_path_factory.mktemp("upstream") / "crds"
    for program in sorted((shared / "upstream/crds").iterdir()):
        assert run_crds(["import", str(program), "--into", str(into)]) == 0, program.name
    return into
