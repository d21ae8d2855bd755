"""What tests of imported kinds share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuc.cli.crds_command import run_crds


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every definition of the reference data, imported once; the folders of programs one by one."""
    shared = os.environ.get("GPUC_SHARED")
    if not shared:
        pytest.skip("GPUC_SHARED is not set: no reference data to compare with")
    into = tmp_path_factory.mktemp("upstream") / "crds"
    for program in sorted(Path(shared, "upstream/crds").iterdir()):
        assert run_crds(["import", str(program), "--into", str(into)]) == 0, program.name
    return into
