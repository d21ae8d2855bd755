"""Copies of the sources of the distributions, so that a build writes nothing into the checkout."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT


def copied_sources(folder: Path) -> Iterator[Path]:
    """Copies the sources of gpuc and of gpuc-rehearsal, and yields their folders."""
    for source, package in ((".", "compiler"), ("rehearsal", "gpuc_rehearsal")):
        target = folder / package / "source"
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / source / package, target / package, ignore=ignored)
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / source / file, target / file)
        yield target
