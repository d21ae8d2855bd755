from __future__ import annotations

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("SCH001")
def unknown_field(subject: Subject) -> Findings:
    """An object has a field that its kind does not have.

    The API server drops the field, and the setting has no effect; or the API server refuses the object.
    """
    for manifest, item in subject.schema_errors(ErrorKind.UNKNOWN):
        yield ObjectFinding(unknown_field.rule, manifest, item.path, item.message, item.fix, on_key=True)
