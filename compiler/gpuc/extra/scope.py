"""Checks the namespaces and kinds of objects that users write. A tenant may have objects only in its own namespaces."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpuc.catalog.schemas import table
from gpuc.cluster.application import ARGO
from gpuc.diagnostics.finding import Finding, rule_table
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.extra.objects import at_object
from gpuc.manifest.manifest import Kind, Manifest
from gpuc.model import Cluster
from gpuc.model.names import TENANT_KEY
from gpuc.model.tenant_kinds import DENIED_KINDS
from gpuc.objects.object_set import dig, group
from gpuc.objects.symbol_table import CLUSTER_SCOPED, kind_of

rule_of = rule_table(__file__)
NO_NAMESPACE = rule_of("MAN006")
OUTSIDE = rule_of("MAN007")
DENIED = rule_of("MAN008")
TENANT_NAMESPACE = rule_of("MAN012")
WRONG_CLUSTER = rule_of("MAN013")

_CLUSTER_SCOPED = CLUSTER_SCOPED | {
    kind_of(kind)
    for kind in (
        "admissionregistration.k8s.io/MutatingAdmissionPolicy",
        "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
        "apiextensions.k8s.io/CustomResourceDefinition",
        "apiregistration.k8s.io/APIService",
        "certificates.k8s.io/CertificateSigningRequest",
        "flowcontrol.apiserver.k8s.io/FlowSchema",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "networking.k8s.io/IngressClass",
        "rbac.authorization.k8s.io/ClusterRoleBinding",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/VolumeAttachment",
        "Node",
    )
}
"""Cluster-scoped kinds, for some of which gpuc has no schema."""


def scope_findings(
    cluster: Cluster, manifests: Sequence[Manifest], tenant_of: Callable[[Manifest], str]
) -> Iterator[Finding]:
    """Yields findings about objects of a wrong kind or in a wrong namespace.

    Args:
        tenant_of: returns the name of the tenant of an object; empty for an object of the platform.
    """
    defined = _defined(manifests)
    for manifest in manifests:
        is_namespaced = _is_namespaced(manifest, cluster, defined)
        tenant = tenant_of(manifest)
        yield from _in_tenant(cluster, manifest, tenant, is_namespaced) if tenant else _scope(manifest, is_namespaced)
        destination = cluster.spec.delivery.destination
        if group(manifest) == ARGO and not destination.is_own_cluster:
            message = f"Argo CD applies the object to {destination.name or destination.server}, but runs in another "
            message += "cluster; expected the object in the cluster of Argo CD"
            yield at_object(WRONG_CLUSTER, manifest, ("kind",), message)


def _in_tenant(cluster: Cluster, manifest: Manifest, tenant: str, is_namespaced: bool | None) -> Iterator[Finding]:
    own = next(sorted(space.name for space in item.namespaces) for item in cluster.tenants if item.name == tenant)
    allowed = f"expected {' or '.join(own)}"
    reason = DENIED_KINDS.get((group(manifest), manifest.kind))
    if is_namespaced is False:
        message = f"{manifest.kind} is a cluster-scoped kind; expected an object in a namespace of tenant {tenant}"
        yield at_object(OUTSIDE, manifest, ("kind",), message)
    elif reason:
        yield at_object(DENIED, manifest, ("kind",), f"a tenant may not have objects of this kind: {reason}")
    elif not manifest.namespace:  # also with one namespace: with a second, the same file would mean something else
        fix = f"add namespace: {own[0]}" if len(own) == 1 else ""
        yield at_object(NO_NAMESPACE, manifest, ("metadata",), f"the object has no namespace; {allowed}", fix)
    elif manifest.namespace not in own:
        message = f"namespace {manifest.namespace} does not belong to tenant {tenant}; {allowed}"
        fix = write(misspelt(manifest.namespace, own))
        yield at_object(OUTSIDE, manifest, ("metadata", "namespace"), message, fix)


def _scope(manifest: Manifest, is_namespaced: bool | None) -> Iterator[Finding]:
    if (group(manifest), manifest.kind) == ("", "Namespace") and TENANT_KEY in manifest.labels:
        message = f"the namespace has the label {TENANT_KEY}; expected a namespace of tenants in the spec"
        yield at_object(TENANT_NAMESPACE, manifest, ("metadata", "labels", TENANT_KEY), message)
    if is_namespaced is True and not manifest.namespace:
        yield at_object(NO_NAMESPACE, manifest, ("metadata",), f"{manifest.kind} is a namespaced kind; add a namespace")
    if is_namespaced is False and manifest.namespace:
        message = f"{manifest.kind} is a cluster-scoped kind; expected no namespace"
        yield at_object(NO_NAMESPACE, manifest, ("metadata", "namespace"), message, "remove the namespace")


def _is_namespaced(manifest: Manifest, cluster: Cluster, defined: Mapping[Kind, bool]) -> bool | None:
    """Returns whether a kind is namespaced; None for a kind that gpuc does not know."""
    kind = (group(manifest), manifest.kind)
    known = table(manifest.api, manifest.kind, cluster.spec.kubernetes)
    if known is not None:
        return known.namespaced
    return False if kind in _CLUSTER_SCOPED else defined.get(kind)


def _defined(manifests: Iterable[Manifest]) -> dict[Kind, bool]:
    """Returns whether the kinds are namespaced that CustomResourceDefinitions among the objects define."""
    found: dict[Kind, bool] = {}
    for manifest in manifests:
        if manifest.kind == "CustomResourceDefinition":
            kind = (str(dig(manifest.body, "spec", "group")), str(dig(manifest.body, "spec", "names", "kind")))
            found[kind] = dig(manifest.body, "spec", "scope") == "Namespaced"
    return found
