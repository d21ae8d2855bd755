"""The reference cluster, and variants of it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from tests.conformance.shared_plane import compiled
from tests.conftest import Change, compiled_example
from tests.pipeline.memory import source

Variant = Callable[[Change], CompiledSpec]


def without_objects(cluster: Cluster) -> CompiledSpec:
    """A spec for test suites that read only the model."""
    return CompiledSpec(source("prod-use1"), cluster, (), ())


class StoredObjects:
    """The part of a client that returns stored objects."""

    def __init__(self, *documents: dict[str, Any]) -> None:
        self._documents = {(document["kind"], document["metadata"]["name"]): document for document in documents}

    def find(self, api: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        return self._documents.get((kind, name))


@pytest.fixture
def prod_spec() -> CompiledSpec:
    """The reference cluster with its objects."""
    return compiled_example("prod-use1")


@pytest.fixture
def variant(tree: dict[str, Any]) -> Variant:
    def changed(change: Change) -> CompiledSpec:
        other = copy.deepcopy(tree)
        change(other["spec"])
        return compiled(other)

    return changed
