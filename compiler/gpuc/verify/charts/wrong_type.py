from __future__ import annotations

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("VAL002")
def wrong_type(subject: Subject) -> Findings:
    """A Helm value has a type, or a value of the right type, that the pinned chart does not accept.

    The chart fails to render, or renders the wrong object.
    """
    for values, item in subject.value_errors(ErrorKind.VALUE, ErrorKind.MISSING, ErrorKind.QUANTITY):
        yield ObjectFinding(wrong_type.rule, values.manifest, item.path, item.message, item.fix)
