"""Finds fields, values, kinds and metadata that the API server refuses or drops."""

from collections.abc import Iterable, Iterator

from gpuc.admission.validation.field import Field, Problem
from gpuc.admission.validation.metadata import labels_and_annotations, structure_of_metadata
from gpuc.catalog.schemas import DERIVE, builtin_kinds, custom_kinds
from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.diagnostics.contract import Needs, When
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.api_groups import CONSTRAINT_API, RBAC, is_custom
from gpuc.kubernetes.dns_name import LABEL, LABEL_1035, MAX_LABEL, MAX_NAME, PATH_SEGMENT, SUBDOMAIN
from gpuc.kubernetes.kueue import GROUP as KUEUE
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, group
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.verify import CHECKS, Findings, check, rule_of
from gpuc.verify.subject import Subject

_NAMES = {
    ("", "Namespace"): (LABEL, "a DNS label (RFC 1123)"),
    ("", "Service"): (LABEL_1035, "a DNS label that starts with a letter (RFC 1035)"),
    **dict.fromkeys(
        ((RBAC, kind) for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
        (PATH_SEGMENT, "a path segment"),
    ),
}
_SUBDOMAIN_NAME = (SUBDOMAIN, "a DNS subdomain (RFC 1123)")
_LABEL_VALUED = {
    *((KUEUE, kind) for kind in ("ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass")),
    ("karpenter.sh", "NodePool"),
    *((kind.group, kind.kind) for kind in workload_kinds() if kind.labels.known),
}
"""Kinds whose controllers copy the name into a label value, which has at most 63 characters."""
_OTHER_NAMES = ("openshift.io", "backstage.io", "grafana.app", "cli.kyverno.io", "chainsaw.kyverno.io", "kuttl.dev")
"""The ends of API groups with other names: those of aggregated API servers, and of files that only programs read.

The names of custom resources are DNS subdomains: k8s.io/apiextensions-apiserver v0.35.4
pkg/registry/customresource/validator.go.
"""
QUANTITY_NOT_CANONICAL = rule_of("SCH005")
RULES = {
    ErrorKind.UNKNOWN: rule_of("SCH001"),
    ErrorKind.VALUE: rule_of("SCH002"),
    ErrorKind.MISSING: rule_of("SCH003"),
    ErrorKind.QUANTITY: QUANTITY_NOT_CANONICAL,
}
"""The rules about errors of a schema."""
_problems: dict[str, tuple[Problem, ...]] = {}
"""The mistakes in labels and annotations, by their text."""


@CHECKS.finds(*RULES.values(), needs=Needs.OBJECTS, when=When.COMPILE)
def fields(subject: Subject) -> Findings:
    """Yields findings about fields that the schema of an object's kind does not allow."""
    for manifest, error in sorted(subject.schema_errors, key=lambda row: RULES[row[1].kind].id):
        on_key = error.kind is ErrorKind.UNKNOWN
        yield ObjectFinding(RULES[error.kind], manifest, error.path, error.message, error.fix, on_key)


@check("SCH004")
def unknown_kind(subject: Subject) -> Findings:
    """An object has a kind or version for which gpuc has no schema."""
    for manifest, known in subject.tables:
        # REF008 reports a constraint of the output without a template.
        if known is None and (subject.as_written or manifest.api != CONSTRAINT_API):
            yield ObjectFinding(unknown_kind.rule, manifest, ("kind",), _reason(manifest, subject.kubernetes))


@check("SCH006")
def illegal_metadata(subject: Subject) -> Findings:
    """An object has a name, namespace, label or annotation that Kubernetes refuses."""
    for manifest, known in subject.tables:
        if known is not None:
            yield from verify_metadata(manifest, namespaced=known.namespaced, as_written=subject.as_written)
        elif subject.as_written and is_custom(group(manifest)) and not group(manifest).endswith(_OTHER_NAMES):
            yield from verify_metadata(manifest, namespaced=bool(manifest.namespace), as_written=True)


def schema_findings(manifests: Iterable[Manifest], kubernetes: str, *, as_written: bool = False) -> list[ObjectFinding]:
    """Returns findings about fields, values and metadata that the API server would refuse or drop.

    Args:
        kubernetes: the cluster's minor version, for example "1.35".
        as_written: whether people wrote the objects. Then quantities may be numbers, and the namespace may be missing.
    """
    subject = Subject(ObjectSet(manifests, is_complete=False), kubernetes, as_written=as_written)
    return [finding for check in (fields, unknown_kind, illegal_metadata) for finding in check.find(subject)]


def _reason(manifest: Manifest, kubernetes: str) -> str:
    known = [f"{api} {kind}" for api, kind in (*builtin_kinds(kubernetes), *custom_kinds())]
    suggestion = nearest(f"{manifest.api} {manifest.kind}", known)
    reason = f"gpuc has no schema of {manifest.api} {manifest.kind} for Kubernetes {kubernetes} or the release set"
    if suggestion:
        return f'{reason}, did you mean "{suggestion}"'
    return f"{reason}: {DERIVE} with --kind {manifest.api} {manifest.kind}, see its --help"


def verify_metadata(manifest: Manifest, *, namespaced: bool, as_written: bool = False) -> Findings:
    """Yields the findings about the metadata of an object.

    Args:
        namespaced: whether the kind is namespaced.
        as_written: whether people wrote the object. Then a namespaced object may have no namespace, because
            `kubectl -n` or Argo CD adds the namespace. A cluster-scoped object may have a namespace, because the API
            server removes the namespace (k8s.io/apiserver v0.35 pkg/registry/rest/meta.go).
    """
    is_unchecked = as_written and not (namespaced and manifest.namespace)
    namespace = () if is_unchecked else _namespace(manifest, namespaced)
    for path, message in (*_name(manifest), *namespace):
        yield ObjectFinding(illegal_metadata.rule, manifest, ("metadata", path), message)
    metadata = {"labels": manifest.labels, "annotations": manifest.annotations}
    key = repr(metadata)  # most objects have the same labels and annotations as others
    if key not in _problems:
        wrong_types = structure_of_metadata({"metadata": metadata}, strict=False)
        _problems[key] = (*wrong_types, *labels_and_annotations(Field(("metadata",), metadata)))
    for problem in _problems[key]:
        yield ObjectFinding(illegal_metadata.rule, manifest, problem.field, problem.message, problem.fix)


def _name(manifest: Manifest) -> Iterator[tuple[str, str]]:
    kind = group(manifest), manifest.kind
    pattern, form = _NAMES.get(kind, _SUBDOMAIN_NAME)
    most = MAX_LABEL if kind in _LABEL_VALUED else MAX_NAME
    if not pattern.fullmatch(manifest.name) or len(manifest.name) > most:
        yield "name", f'"{manifest.name}" is not {form} of at most {most} characters'


def _namespace(manifest: Manifest, namespaced: bool) -> Iterator[tuple[str, str]]:
    if namespaced and not LABEL.fullmatch(manifest.namespace):
        yield "namespace", f'"{manifest.namespace}" is not a valid namespace, and {manifest.kind} is a namespaced kind'
    if not namespaced and manifest.namespace:
        yield "namespace", f'{manifest.kind} is cluster-scoped and cannot have the namespace "{manifest.namespace}"'
