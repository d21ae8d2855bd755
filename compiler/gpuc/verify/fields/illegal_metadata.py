from __future__ import annotations

from collections.abc import Iterator

from gpuc.admission.validation.metadata import labels_and_annotations, structure_of_metadata
from gpuc.kubernetes.dns_name import LABEL, LABEL_1035, MAX_LABEL, MAX_NAME, PATH_SEGMENT, SUBDOMAIN
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject

_NAMES = {
    "Namespace": (LABEL, "a DNS label (RFC 1123)"),
    "Service": (LABEL_1035, "a DNS label that starts with a letter (RFC 1035)"),
    **dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), (PATH_SEGMENT, "a path segment")),
}
_SUBDOMAIN_NAME = (SUBDOMAIN, "a DNS subdomain (RFC 1123)")
_LABEL_VALUED = frozenset(
    ("ClusterQueue", "Job", "JobSet", "LocalQueue", "NodePool", "ResourceFlavor", "WorkloadPriorityClass")
)
"""Kinds whose controllers copy the name into a label value, which has at most 63 characters."""


@check("SCH006", source="https://kubernetes.io/docs/concepts/overview/working-with-objects/names/")
def illegal_metadata(subject: Subject) -> Findings:
    """An object has a name, namespace, label or annotation that Kubernetes refuses.

    The API server refuses the object, and its Application does not sync.
    """
    for manifest, known in subject.tables:
        if known is not None:
            yield from verify_metadata(manifest, namespaced=known.namespaced, as_written=subject.as_written)


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
    wrong_types = structure_of_metadata({"metadata": metadata}, strict=False)
    for problem in (*wrong_types, *labels_and_annotations(("metadata",), metadata)):
        yield ObjectFinding(illegal_metadata.rule, manifest, problem.path, problem.message, problem.fix)


def _name(manifest: Manifest) -> Iterator[tuple[str, str]]:
    pattern, form = _NAMES.get(manifest.kind, _SUBDOMAIN_NAME)
    most = MAX_LABEL if manifest.kind in _LABEL_VALUED else MAX_NAME
    if not pattern.fullmatch(manifest.name) or len(manifest.name) > most:
        yield "name", f'"{manifest.name}" is not {form} of at most {most} characters'


def _namespace(manifest: Manifest, namespaced: bool) -> Iterator[tuple[str, str]]:
    if namespaced and not LABEL.fullmatch(manifest.namespace):
        yield "namespace", f'"{manifest.namespace}" is not a valid namespace, and {manifest.kind} is a namespaced kind'
    if not namespaced and manifest.namespace:
        yield "namespace", f'{manifest.kind} is cluster-scoped and cannot have the namespace "{manifest.namespace}"'
