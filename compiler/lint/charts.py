"""Helm values that somebody keeps in files, against the pinned chart's own keys and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.catalog.schemas import chart
from compiler.finding import Finding
from compiler.lint.places import Places
from compiler.verify.flaw import place
from compiler.verify.mismatch import Fit, mismatches, validator
from compiler.verify.values import UNKNOWN_KEY, WRONG_TYPE


def judge_values(
    values: Sequence[tuple[str, int, dict[str, Any]]], component: str | None, places: Places
) -> Iterator[Finding]:
    """Findings about the maps that are no objects, taken for values of a chart; nothing where none is named."""
    schema = chart(component) if component else None
    if schema is None:
        return
    compiled = validator(schema)
    for file, index, data in values:
        for item in mismatches(compiled, data, schema):
            kind = UNKNOWN_KEY if item.fit is Fit.UNKNOWN else WRONG_TYPE
            mark = places.mark(file, index, item.path, on_key=item.fit is Fit.UNKNOWN)
            yield kind.at((), f"{place(item.path) or 'the file'}: {item.message}", fix=item.fix, mark=mark)
