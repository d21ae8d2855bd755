"""The reference cluster, and variants of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.source import read
from tests.conformance.shared_plane import compiled
from tests.pipeline.memory import source

ROOT = Path(__file__).parents[2]
FILE = "specs/prod-use1.yaml"

Change = Callable[[dict[str, Any]], object]
"""Changes the part under `spec` of a merged tree, in place."""


@pytest.fixture(scope="session")
def tree() -> dict[str, Any]:
    return read(ROOT, FILE).tree


def without_objects(cluster: Cluster) -> CompiledSpec:
    """A spec for test suites that read only the model."""
    return CompiledSpec(source("prod-use1"), cluster, (), ())


@pytest.fixture
def variant(tree: dict[str, Any]) -> Callable[[Change], CompiledSpec]:
    def changed(change: Change) -> CompiledSpec:
        other = copy.deepcopy(tree)
        change(other["spec"])
        return compiled(other)

    return changed
