from __future__ import annotations

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("SCH005", source="k8s.io/apimachinery v0.35, pkg/api/resource/quantity.go")
def quantity_not_canonical(subject: Subject) -> Findings:
    """A quantity is not in the canonical form, in which Kubernetes stores quantities.

    Argo CD compares the text with the stored quantity and reports OutOfSync forever.
    """
    for manifest, item in subject.schema_errors(ErrorKind.QUANTITY):
        yield ObjectFinding(quantity_not_canonical.rule, manifest, item.path, item.message, item.fix)
