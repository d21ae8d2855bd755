"""Which namespace belongs to which tenant."""

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
"""Namespaces that operators of clusters usually call so, where no label says whose a namespace is."""
_PLATFORM_PREFIXES = ("kube-", "openshift-")


@dataclass(frozen=True)
class Tenancy:
    """Namespaces, their labels and their tenants."""

    namespaces: Mapping[str, Mapping[str, str]]
    """Labels of each namespace that the tree knows, by name."""
    tenants: Mapping[str, str]
    """The tenant of each namespace that has one."""
    key: str = ""
    """The label that says so; empty where each namespace stands for a tenant."""
    unlabelled: tuple[str, ...] = field(default=())
    """Namespaces that objects name and no Namespace object describes: their labels are not known."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tenants, sorted."""
        return tuple(sorted(set(self.tenants.values())))

    @cached_property
    def homes(self) -> Mapping[str, tuple[str, ...]]:
        """The namespaces of each tenant, sorted."""
        found: dict[str, list[str]] = {}
        for namespace, tenant in sorted(self.tenants.items()):
            found.setdefault(tenant, []).append(namespace)
        return {tenant: tuple(namespaces) for tenant, namespaces in found.items()}


def labelled_tenancy(tree: ObjectSet, key: str = TENANT_LABEL) -> Tenancy:
    """Tenants by a label of their namespaces."""
    namespaces = tree.namespaces
    tenants = {name: labels[key] for name, labels in namespaces.items() if labels.get(key)}
    return Tenancy(namespaces, tenants, key)


def separate_tenancy(tree: ObjectSet) -> Tenancy:
    """Every namespace a tenant of its own, but for those of the platform."""
    described = tree.namespaces
    named = {each.namespace for each in tree.of(GROUP, "NetworkPolicy") if each.namespace}
    bare = tuple(sorted(named - set(described)))
    namespaces = described | {name: {"kubernetes.io/metadata.name": name} for name in bare}
    tenants = {name: name for name in namespaces if not _is_platform(name)}
    return Tenancy(namespaces, tenants, unlabelled=bare)


def _is_platform(name: str) -> bool:
    return name in _PLATFORM or name.startswith(_PLATFORM_PREFIXES) or name.endswith("-operator")
