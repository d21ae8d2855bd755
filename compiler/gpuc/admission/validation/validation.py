"""The decision of the API server about the fields of a new object."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.admission.documents import api_group
from gpuc.admission.request import Decision
from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.defaults import set_defaults
from gpuc.admission.validation.field import Field, Problems
from gpuc.admission.validation.metadata import structure_of_metadata
from gpuc.admission.validation.structure import KUBERNETES, structure, table_of, without_nulls
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body


def validation_errors(document: Body, *, strict: bool = True, kubernetes: str = KUBERNETES) -> Iterator[Decision]:
    """Yields a decision for every field for which the API server or a webhook refuses a new object.

    A decision is "unknown" for a kind without a schema, and for a field that gpuc does not check.

    Args:
        document: the complete object as a user or controller sends it, without the API server's defaults.
        strict: whether unknown fields are errors, as for objects that kubectl sends; controllers' requests are not
            strict.
        kubernetes: the minor version whose fields the object may have. The other checks are those of 1.35.
    """
    kind = f"{api_group(document)}/{document.get('kind')}"
    if kind not in tables() or table_of(document, kubernetes) is None:
        message = f"gpuc has no table of the fields of {document.get('apiVersion')} {document.get('kind')}"
        yield Decision("unknown", "API server", message, field=("kind",))
        return
    reported: set[Path] = set()
    for problem in _problems(document, kind, strict=strict, kubernetes=kubernetes):
        if problem.field not in reported:
            reported.add(problem.field)
            yield problem


def _problems(document: Body, kind: str, *, strict: bool, kubernetes: str) -> Problems:
    yield from structure_of_metadata(document, strict=strict)
    complete = without_nulls(document)
    yield from structure(document, complete, strict=strict, kubernetes=kubernetes)
    if document.get("status") not in (None, {}):
        reason = "the API server drops it, but refuses unknown fields and wrong types"
        yield Field(("status",), None).not_checked(reason)
    set_defaults(complete)
    name = f"name of {kind}"
    for table in (name if name in tables() else "name of objects", "object", kind):
        yield from tables().problems(table, Field((), complete))
