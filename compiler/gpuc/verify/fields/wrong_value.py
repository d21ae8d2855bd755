from __future__ import annotations

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("SCH002")
def wrong_value(subject: Subject) -> Findings:
    """A field has a value of the wrong type, out of range, or not among the allowed values.

    The API server refuses the object, and its Application does not sync.
    """
    for manifest, item in subject.schema_errors(ErrorKind.VALUE):
        yield ObjectFinding(wrong_value.rule, manifest, item.path, item.message, item.fix)
