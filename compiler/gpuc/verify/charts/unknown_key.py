from __future__ import annotations

from gpuc.catalog.schemas import DERIVE, chart
from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("VAL001")
def unknown_key(subject: Subject) -> Findings:
    """A Helm values file has a key that the pinned chart does not read.

    Helm silently ignores the key, and the setting has no effect.
    """
    for values in (values for values in subject.values if values.has_schema):
        if chart(values.component) is None:
            text = f'chart "{values.component}" has no schema for its values: {DERIVE}'
            yield ObjectFinding(unknown_key.rule, values.manifest, (), text)
        elif values.component not in subject.releases:
            known = ", ".join(sorted(subject.releases))
            text = f'chart "{values.component}" is not among the releases of the cluster: {known}'
            yield ObjectFinding(unknown_key.rule, values.manifest, (), text)
    for values, item in subject.value_errors(ErrorKind.UNKNOWN):
        yield ObjectFinding(unknown_key.rule, values.manifest, item.path, item.message, item.fix, on_key=True)
