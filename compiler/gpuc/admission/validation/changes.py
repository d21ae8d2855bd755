"""Changes of objects, and the refused changes that are more than a row of a table; see `immutable`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity

Refusals = Iterator[tuple[Path, str]]
"""The paths of fields whose change the API server or a webhook refuses, with the reason."""


class ChangedField(Protocol):
    """A field that differs."""

    @property
    def path(self) -> Path: ...

    def is_below(self, *prefix: str | int) -> bool:
        """Returns whether the field is at a path or below the path."""
        ...


class ChangedObject(Protocol):
    """An object before and after a change."""

    @property
    def fields(self) -> Sequence[ChangedField]:
        """The fields that differ."""
        ...

    def changes(self, *prefix: str | int) -> bool:
        """Returns whether a field at a path or below the path differs."""
        ...

    def values(self, *path: str | int) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        ...


def _smaller_claim(claim: ChangedObject) -> Refusals:
    path = ("spec", "resources", "requests", "storage")
    before, after = (quantity(value) for value in claim.values(*path))
    if before is not None and after is not None and after < before:
        yield path, "a PersistentVolumeClaim cannot become smaller, except to more than status.capacity"


def _immutable_data(changed: ChangedObject) -> Refusals:
    data = [field.path for field in changed.fields if field.path[0] in ("data", "binaryData", "immutable")]
    if changed.values("immutable")[0] is True:
        yield from ((path, "the object is marked as immutable") for path in data[:1])


def _cluster_address(service: ChangedObject) -> Refusals:
    """Yields the address of a Service. A Service without a value has an address that the server chose.

    A Service keeps its value if the field is removed. Source: pkg/registry/core/service/storage/storage.go
    (patchAllocatedValues)
    """
    path = ("spec", "clusterIP")
    before, after = service.values(*path)
    has_address = "ExternalName" not in service.values("spec", "type")
    if has_address and after and before != after and (before or after == "None"):
        yield path, "the clusterIP of a Service cannot change"


def _kind_of_node_pool(pool: ChangedObject) -> Refusals:
    before, after = ("dynamic" if value is None else "static" for value in pool.values("spec", "replicas"))
    if before != after:
        yield ("spec", "replicas"), f"a NodePool cannot change from a {before} pool to a {after} pool"
