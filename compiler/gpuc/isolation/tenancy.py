"""Finds the tenants of a cluster and their namespaces."""

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from gpuc.catalog import load
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet
from gpuc.objects.other_policies import enforced_policies

TENANT_LABEL = "gpuc.dev/tenant"

_PLATFORM = frozenset(
    ("argocd", "calico-system", "cert-manager", "default", "external-dns", "external-secrets", "flux-system",
     "ingress-nginx", "istio-system", "jobset-system", "kyverno", "monitoring", "observability", "prometheus")
)  # fmt: skip
"""Common names of platform namespaces, besides the namespaces of components, for clusters without a tenant label."""
_PLATFORM_PREFIXES = ("kube-", "openshift-")


class Tenancy(Struct, frozen=True, dict=True):
    """The namespaces of a cluster with their labels, and the tenant of each namespace."""

    namespaces: Mapping[str, Mapping[str, str]]
    """The labels of all known namespaces, by name."""
    tenants: Mapping[str, str]
    """The tenants by namespace. A namespace without a tenant, such as kube-system, is not a key."""
    key: str = ""
    """The label of namespaces whose value is the tenant; empty if every namespace counts as a tenant."""
    unlabelled: tuple[str, ...] = ()
    """Namespaces without a Namespace object in the input. Their labels are unknown."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the tenants, sorted."""
        return tuple(sorted(set(self.tenants.values())))


def labelled_tenancy(objects: ObjectSet, key: str = TENANT_LABEL) -> Tenancy:
    """Finds the tenant of each namespace in the label `key` of the Namespace object, by default gpuc.dev/tenant."""
    namespaces = objects.namespaces
    tenants = {name: labels[key] for name, labels in namespaces.items() if labels.get(key)}
    return Tenancy(namespaces, tenants, key)


def separate_tenancy(objects: ObjectSet) -> Tenancy:
    """Treats every namespace as a tenant of its own, without the namespaces of the platform."""
    labelled = objects.namespaces
    with_policies = {policy.namespace for policy in objects.once(enforced_policies) if policy.namespace}
    unlabelled = tuple(sorted(with_policies - set(labelled)))
    namespaces = labelled | {name: {NAMESPACE_NAME: name} for name in unlabelled}
    platform = _PLATFORM | {row.namespace for row in load().all_releases}
    tenants = {
        name: name
        for name in namespaces
        if name not in platform and not name.startswith(_PLATFORM_PREFIXES) and not name.endswith("-operator")
    }
    return Tenancy(namespaces, tenants, unlabelled=unlabelled)
