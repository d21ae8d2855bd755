"""The fixture of tests that use imported CRDs."""

from pathlib import Path

import pytest

from gpuc.cli.main import run_command


@pytest.fixture(scope="session")
def upstream(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported tables of all CRDs of the reference data."""
    into = tmp_path_factory.mktemp("upstream") / "crds"
    for program in sorted((shared / "upstream/crds").iterdir()):
        assert run_command(["crds", "import", str(program), "--into", str(into)]) == 0, program.name
    return into
