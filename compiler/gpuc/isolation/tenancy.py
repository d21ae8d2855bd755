"""The tenants of the namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gpuc.objects.network_policies import GROUP
from gpuc.objects.object_set import ObjectSet

TENANT_LABEL = "gpuc.dev/tenant"

_PLATFORM = frozenset(
    ("argocd", "calico-system", "cert-manager", "default", "external-dns", "external-secrets", "flux-system",
     "gatekeeper-system", "ingress-nginx", "istio-system", "jobset-system", "karpenter", "kueue-system", "kyverno",
     "monitoring", "observability", "prometheus")
)  # fmt: skip
"""Common names of platform namespaces, for clusters without a tenant label."""
_PLATFORM_PREFIXES = ("kube-", "openshift-")


@dataclass(frozen=True)
class Tenancy:
    """Namespaces, their labels and their tenants."""

    namespaces: Mapping[str, Mapping[str, str]]
    """The labels of all known namespaces, by name."""
    tenants: Mapping[str, str]
    """The tenants by namespace; namespaces without a tenant are missing."""
    key: str = ""
    """The label that contains the tenant; empty if every namespace counts as a tenant."""
    unlabelled: tuple[str, ...] = field(default=())
    """Namespaces without a Namespace object, so that their labels are unknown."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tenants, sorted."""
        return tuple(sorted(set(self.tenants.values())))

    @cached_property
    def homes(self) -> Mapping[str, tuple[str, ...]]:
        """The namespaces by tenant, sorted."""
        found: dict[str, list[str]] = {}
        for namespace, tenant in sorted(self.tenants.items()):
            found.setdefault(tenant, []).append(namespace)
        return {tenant: tuple(namespaces) for tenant, namespaces in found.items()}


def labelled_tenancy(objects: ObjectSet, key: str = TENANT_LABEL) -> Tenancy:
    """The tenants from a label of the namespaces."""
    namespaces = objects.namespaces
    tenants = {name: labels[key] for name, labels in namespaces.items() if labels.get(key)}
    return Tenancy(namespaces, tenants, key)


def separate_tenancy(objects: ObjectSet) -> Tenancy:
    """Every namespace as a tenant of its own, except platform namespaces."""
    described = objects.namespaces
    named = {policy.namespace for policy in objects.of(GROUP, "NetworkPolicy") if policy.namespace}
    bare = tuple(sorted(named - set(described)))
    namespaces = described | {name: {"kubernetes.io/metadata.name": name} for name in bare}
    tenants = {name: name for name in namespaces if not _is_platform(name)}
    return Tenancy(namespaces, tenants, unlabelled=bare)


def _is_platform(name: str) -> bool:
    return name in _PLATFORM or name.startswith(_PLATFORM_PREFIXES) or name.endswith("-operator")
