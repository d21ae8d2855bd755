from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.catalog import load
from gpuc.catalog.records import NullField
from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check(
    "VAL004",
    source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md (Server-Side Apply); "
    "compiler/gpuc/catalog/nulls.json",
)
def null_field(subject: Subject) -> Findings:
    """A chart renders an empty Helm value as a null in a custom resource.

    The API server refuses a server-side apply of the object, and the sync of its Application fails.
    """
    for values in subject.values:
        reported = {error.path for other, error in subject.value_errors(*ErrorKind) if other is values}
        for path, message in null_fields(values.component, values.body):
            if path not in reported:
                yield ObjectFinding(null_field.rule, values.manifest, path, message)


def null_fields(component: str, values: Any) -> Iterator[tuple[Path, str]]:
    """Yields the path of every empty value that a chart renders as a null, and a message about the null.

    A missing value is no error: the chart uses its default value, which renders no null.

    Args:
        component: the chart's key in the release set.
    """
    for row in load().null_fields.get(component, ()):
        *above, key = row.value.split(".")
        parent = dig(values, *above)
        if isinstance(parent, dict) and key in parent and _is_empty(parent[key]) and _is_rendered(row, values):
            yield (*above, key), f"the value is empty, so the chart renders {row.kind} with a null at {row.field}"


def _is_empty(value: Any) -> bool:
    return value in (None, "", {}, [])


def _is_rendered(row: NullField, values: Any) -> bool:
    """Returns whether the chart renders the object with the field."""
    if not row.object_if:
        return True
    switch = dig(values, *row.object_if.split("."))
    return row.object_default if switch is None else switch is True
