from __future__ import annotations

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("SCH003")
def missing_field(subject: Subject) -> Findings:
    """An object lacks a field that its kind requires.

    The API server refuses the object, and its Application does not sync.
    """
    for manifest, item in subject.schema_errors(ErrorKind.MISSING):
        yield ObjectFinding(missing_field.rule, manifest, item.path, item.message, item.fix)
