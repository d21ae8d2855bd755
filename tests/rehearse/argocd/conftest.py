"""A working copy of the example fleet's specs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A root with specs/ alone: what is compiled there, compiles from nothing."""
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    return tmp_path
