"""Differences between an applied object and the stored object: changed and dropped values, defaulted fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.rehearse.client import Object


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field with different values in the written object and in the stored object."""

    path: str
    """Path of the field, for example spec.disruption.budgets[0].nodes."""
    kind: str
    """changed or dropped by the API server, or defaulted: set only in the stored object."""
    written: Any = None
    stored: Any = None

    def __str__(self) -> str:
        if self.kind == "defaulted":
            return f"{self.path} was not written and is {self.stored!r} by default"
        return f"{self.path} was written as {self.written!r} and is " + (
            "missing in the stored object" if self.kind == "dropped" else repr(self.stored)
        )


def differences(written: Object, stored: Object) -> list[FieldDifference]:
    """Returns the values that the API server changed or dropped, and defaults from the API server in written lists.

    Defaults outside lists cause no drift: Argo CD compares only written fields, except in lists of custom resources,
    which Argo CD compares completely.
    """
    return list(_compare("", written, stored, in_list=False))


def _compare(path: str, written: Any, stored: Any, in_list: bool) -> Iterator[FieldDifference]:
    if isinstance(written, dict) and isinstance(stored, dict):
        yield from _compare_maps(path, written, stored, in_list)
    elif isinstance(written, list) and isinstance(stored, list) and len(written) == len(stored):
        for index, (item, stored_item) in enumerate(zip(written, stored, strict=True)):
            yield from _compare(f"{path}[{index}]", item, stored_item, in_list=True)
    elif written != stored:
        yield FieldDifference(path, "changed", written, stored)


def _compare_maps(path: str, written: Object, stored: Object, in_list: bool) -> Iterator[FieldDifference]:
    for key, value in written.items():
        child_path = f"{path}.{key}" if path else key
        if key in stored:
            yield from _compare(child_path, value, stored[key], in_list)
        elif value not in ({}, []):
            yield FieldDifference(child_path, "dropped", value)
    if in_list:
        for key in stored.keys() - written.keys():
            yield FieldDifference(f"{path}.{key}", "defaulted", stored=stored[key])
