from __future__ import annotations

from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.null_fields import null_fields
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
