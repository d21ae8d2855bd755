from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import check

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("SCH003")
def missing_field(subject: Subject) -> Iterator[ObjectFinding]:
    """An object lacks a field that its kind requires.

    The API server refuses the object, and its Application does not sync.
    """
    for manifest, item in subject.schema_errors(ErrorKind.MISSING):
        yield ObjectFinding(missing_field.rule, manifest, item.path, item.message, item.fix)
