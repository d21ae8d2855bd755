from __future__ import annotations

from gpuc.catalog.schemas import DERIVE, builtin_kinds, custom_kinds
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("SCH004")
def unknown_kind(subject: Subject) -> Findings:
    """An object has a kind or version for which gpuc has no schema.

    gpuc does not check the fields of the object.
    """
    for manifest, known in subject.tables:
        if known is None:
            yield ObjectFinding(unknown_kind.rule, manifest, ("kind",), _reason(manifest, subject.kubernetes))


def _reason(manifest: Manifest, kubernetes: str) -> str:
    if manifest.api == CONSTRAINT_API:
        return f'no ConstraintTemplate declares the kind "{manifest.kind}"'
    known = [f"{api} {kind}" for api, kind in (*builtin_kinds(kubernetes), *custom_kinds())]
    suggestion = nearest(f"{manifest.api} {manifest.kind}", known)
    reason = f"gpuc has no schema of {manifest.api} {manifest.kind} for Kubernetes {kubernetes} or the release set"
    if suggestion:
        return f'{reason}, did you mean "{suggestion}"'
    return f"{reason}: {DERIVE} with --kind {manifest.api} {manifest.kind}, see its --help"
