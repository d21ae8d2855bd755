"""What became of an object on the server: values that were changed or dropped, fields that were added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.rehearse.client import Object


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what is stored is not what was written."""

    path: str
    """Below the object: spec.disruption.budgets[0].nodes."""
    kind: str
    """changed, dropped, or defaulted."""
    written: Any = None
    stored: Any = None

    def __str__(self) -> str:
        if self.kind == "defaulted":
            return f"{self.path} is {self.stored!r} by default"
        return f"{self.path} was written as {self.written!r} and is " + (
            "gone" if self.kind == "dropped" else repr(self.stored)
        )


def differences(written: Object, stored: Object) -> list[Difference]:
    """Every value that the server changed or dropped, and every default inside a list of ours.

    Defaults elsewhere are no drift: Argo CD compares only what it wrote, but lists of custom kinds as wholes.
    """
    return list(_compare("", written, stored, in_list=False))


def _compare(path: str, written: Any, stored: Any, in_list: bool) -> Iterator[Difference]:
    if isinstance(written, dict) and isinstance(stored, dict):
        yield from _compare_maps(path, written, stored, in_list)
    elif isinstance(written, list) and isinstance(stored, list) and len(written) == len(stored):
        for index, (mine, theirs) in enumerate(zip(written, stored, strict=True)):
            yield from _compare(f"{path}[{index}]", mine, theirs, in_list=True)
    elif written != stored:
        yield Difference(path, "changed", written, stored)


def _compare_maps(path: str, written: Object, stored: Object, in_list: bool) -> Iterator[Difference]:
    for key, value in written.items():
        below = f"{path}.{key}" if path else key
        if key in stored:
            yield from _compare(below, value, stored[key], in_list)
        elif value not in ({}, []):
            yield Difference(below, "dropped", value)
    if in_list:
        for key in stored.keys() - written.keys():
            yield Difference(f"{path}.{key}", "defaulted", stored=stored[key])
