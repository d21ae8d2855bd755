"""Tenants and their namespaces before and after a change, from the labels of the Namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpuc.model.names import TENANT_KEY
from gpuc.plan.change import Change, Pair
from gpuc.plan.quota_changes import queue_name


class TenantNamespaces(NamedTuple):
    """The namespaces of a tenant."""

    tenant: str
    pairs: tuple[Pair, ...]
    """The Namespaces that belong to the tenant before or after the change."""

    @property
    def names(self) -> str:
        """The names of the namespaces, sorted."""
        return ", ".join(sorted(pair.name for pair in self.pairs))

    @property
    def is_added(self) -> bool:
        """Whether the tenant has no namespace before the change."""
        return not any(tenant_of(pair, 0) == self.tenant for pair in self.pairs)

    @property
    def is_removed(self) -> bool:
        """Whether the tenant has no namespace after the change."""
        return not any(tenant_of(pair, 1) == self.tenant for pair in self.pairs)


def tenants(change: Change) -> Iterator[TenantNamespaces]:
    """Yields each tenant with its namespaces, in the order of the objects. Namespaces of no tenant are left out."""
    groups: dict[str, list[Pair]] = {}
    for pair in change.pairs("", "Namespace"):
        for tenant in dict.fromkeys((tenant_of(pair, 1), tenant_of(pair, 0))):
            if tenant:
                groups.setdefault(tenant, []).append(pair)
    for tenant, pairs in groups.items():
        yield TenantNamespaces(tenant, tuple(pairs))


def tenant_of(pair: Pair, state: int) -> str:
    """Returns the tenant of a Namespace before (0) or after (1) the change; an empty string without a tenant."""
    manifest = pair.after if state else pair.before
    return str(manifest.labels.get(TENANT_KEY, "")) if manifest else ""


def where_text(owner: str, namespaces: Iterable[str]) -> str:
    """Returns the namespaces of a tenant in words: " in a, b"; empty if the owner is a namespace."""
    return f" in {', '.join(dict.fromkeys(namespaces))}" if owner.startswith("tenant") else ""


def owner_and_queue(change: Change, local: Pair) -> tuple[str, str]:
    """Returns the tenant or namespace of a LocalQueue in words, and the name of its queue in the spec."""
    return owner_of(change, local.manifest.namespace), queue_name(local)


def owner_of(change: Change, namespace: str) -> str:
    """Returns the tenant of a namespace in words, "tenant red", or "namespace x" for a namespace of no tenant."""
    pair = change.pair("", "Namespace", namespace)
    tenant = pair and (tenant_of(pair, 1) or tenant_of(pair, 0))
    return f"tenant {tenant}" if tenant else f"namespace {namespace}"
