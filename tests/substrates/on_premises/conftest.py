"""What several tests about existing nodes use."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import MACHINES


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the fleet, and the working directory."""
    folder = tmp_path / "lab"
    shutil.copytree(MACHINES, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    return folder
