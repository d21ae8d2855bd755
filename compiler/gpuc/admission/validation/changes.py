"""Finds changed fields that the API server and webhooks do not allow to change: the tables "changes of <kind>".

A row of a table has a path without lists, and one of these sentences. Instead of a sentence, a row can have the name of
a function that yields the refused changes of the object:

    immutable                    the value must not change; not checked if one of the two objects lacks the field
    immutable, missing as VALUE  the value must not change; a missing field has the default VALUE
    immutable except NAMES       fields below the path must not change; the fields NAMES may change
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.sentences import literal
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity

_IMMUTABLE = re.compile(r"immutable(?: except (?P<mutable>.+)|, missing as (?P<missing>\S+))?")
Refusals = Iterator[tuple[Path, str]]
"""The paths of fields whose change the API server or a webhook refuses, with the reason."""


class ChangedField(Protocol):
    """A field whose value differs before and after a change of an object."""

    @property
    def path(self) -> Path: ...

    def is_below(self, *prefix: str | int) -> bool:
        """Returns whether the path of the field is `prefix`, or begins with `prefix`."""
        ...


class ChangedObject(Protocol):
    """An object before and after a change, with the fields that differ."""

    @property
    def fields(self) -> Sequence[ChangedField]:
        """The fields whose values differ."""
        ...

    def changes(self, *prefix: str | int) -> bool:
        """Returns whether a field differs whose path is `prefix`, or begins with `prefix`."""
        ...

    def values(self, *path: str | int) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        ...


def refused_changes(kind: str, changed: ChangedObject) -> Refusals:
    """Yields the changed fields of an object that the API server or a webhook refuses, with the reason.

    Args:
        kind: API group and kind: "/Secret" or "batch/Job".
    """
    table = f"changes of {kind}"
    for path, sentence in tables().rows(table) if table in tables() else ():
        match = _IMMUTABLE.fullmatch(sentence)
        if match is None:
            yield from tables().functions[sentence](changed)
        elif match["mutable"]:
            for field in changed.fields:
                below = field.path[len(path) :]
                if field.is_below(*path) and below and below[0] not in match["mutable"].split():
                    yield field.path, f"the field {'.'.join(path)}.{below[0]} is immutable"
        elif changed.changes(*path):
            before, after = changed.values(*path)
            if default := match["missing"]:
                before, after = (literal(default) if value is None else value for value in (before, after))
            if before != after and (default or None not in (before, after)):
                yield path, f"the field {'.'.join(path)} is immutable"


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
