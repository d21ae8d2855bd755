"""The reference cluster, and variants with one change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.model import Cluster, resolve
from gpuc.spec.cluster import ClusterSpec

FILE = "specs/prod-use1.yaml"

Change = Callable[[dict[str, Any]], object]
"""A function that changes the value of `spec` in a merged tree, in place."""


@pytest.fixture(scope="session")
def reference(tree: dict[str, Any]) -> Cluster:
    return resolve(ClusterSpec.model_validate(tree), FILE, load())


@pytest.fixture
def variant(tree: dict[str, Any]) -> Callable[[Change], Cluster]:
    def changed(change: Change) -> Cluster:
        other = copy.deepcopy(tree)
        change(other["spec"])
        return resolve(ClusterSpec.model_validate(other), FILE, load())

    return changed
