"""Tenants and their namespaces before and after a change, and the removal of namespaces."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpuc.kubernetes.api_groups import RBAC
from gpuc.model.names import TENANT_KEY
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Raised, workloads_of
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_usage import users_text


class TenantNamespaces(NamedTuple):
    """A tenant, and its namespaces before and after a change."""

    tenant: str
    pairs: tuple[Pair, ...]
    """The Namespaces that belong to the tenant before or after the change."""

    @property
    def names(self) -> str:
        """The names of the namespaces, sorted and joined by commas."""
        return ", ".join(sorted(pair.name for pair in self.pairs))

    @property
    def is_added(self) -> bool:
        """Whether the tenant has no namespace before the change, so that the tenant is new."""
        return not any(tenant_of(pair, 0) == self.tenant for pair in self.pairs)

    @property
    def is_removed(self) -> bool:
        """Whether the tenant has no namespace after the change, so that the tenant is removed."""
        return not any(tenant_of(pair, 1) == self.tenant for pair in self.pairs)


def tenants(change: Change) -> Iterator[TenantNamespaces]:
    """Yields each tenant with its namespaces, in the order of the objects. Namespaces without a tenant are left out."""
    owned = (
        (tenant, pair)
        for pair in change.pairs("", "Namespace")
        for tenant in dict.fromkeys((tenant_of(pair, 1), tenant_of(pair, 0)))
        if tenant
    )
    for tenant, rows in grouped(owned, lambda row: row[0]).items():
        yield TenantNamespaces(tenant, tuple(pair for _, pair in rows))


def tenant_of(pair: Pair, state: int) -> str:
    """Returns the tenant of a Namespace before (`state` 0) or after (`state` 1) the change; "" without a tenant."""
    manifest = pair.after if state else pair.before
    return str(manifest.labels.get(TENANT_KEY, "")) if manifest else ""


def where_text(owner: str, namespaces: Iterable[str]) -> str:
    """Returns the namespaces of a tenant as " in a, b"; an empty string if the owner is itself a namespace."""
    return f" in {', '.join(dict.fromkeys(namespaces))}" if owner.startswith("tenant") else ""


def owner_and_queue(change: Change, local: Pair) -> tuple[str, str]:
    """Returns the owner of a LocalQueue in words, "tenant red" or else "namespace x", and its queue in the spec."""
    return owner_of(change, local.namespace), local.element


def owner_of(change: Change, namespace: str) -> str:
    """Returns the tenant of a namespace in words, "tenant red", or "namespace x" if the namespace has no tenant."""
    pair = change.pair("", "Namespace", namespace)
    tenant = pair and (tenant_of(pair, 1) or tenant_of(pair, 0))
    return f"tenant {tenant}" if tenant else f"namespace {namespace}"


def left(change: Change) -> list[Pair]:
    """Returns the removed Namespaces that Argo CD leaves in the cluster. Argo CD deletes other removed Namespaces."""
    return [pair for pair in change.pairs("", "Namespace") if pair.is_removed and is_left(change, pair.manifest)]


def has_left(change: Change, removed: Sequence[Pair]) -> bool:
    """Returns whether the removed namespaces, or their tenant, had `leaving: true` before the change."""
    spec = change.before.cluster
    leaving = {
        namespace.name
        for tenant, namespace in (spec.namespaces if spec else ())
        if tenant.spec.leaving or namespace.spec.leaving
    }
    return all(pair.name in leaving for pair in removed)


def pruned_in_namespaces(change: Change, kind: str) -> Iterator[Pair]:
    """Yields the objects of a kind in the core API group that Argo CD deletes from namespaces that stay."""
    for pair in change.pairs("", kind):
        namespace = change.pair("", "Namespace", pair.namespace)
        if pair.is_removed and not (namespace and namespace.is_removed) and not is_left(change, pair.manifest):
            yield pair


def removal(change: Change, removed: Sequence[Pair], subject: str, message: str) -> Raised:
    """Returns an impact about removed namespaces that Argo CD leaves in the cluster."""
    names = [pair.name for pair in removed]
    bindings = (pair for pair in change.pairs(RBAC, "RoleBinding") if pair.is_removed)
    # Without their RoleBindings, members cannot create workloads.
    pruned = {pair.namespace for pair in bindings if not is_left(change, pair.manifest)}
    closed = [name for name in names if name in pruned]
    access = "its roles stay too, and members keep their access until an administrator deletes the objects"
    if closed:
        access = "members lose access, and no new workload starts"
    details = (
        f"Argo CD leaves {', '.join(names)} in the cluster, with all pods, ResourceQuotas and volumes",
        f"when their work has ended, delete them with kubectl delete namespace {' '.join(names)}",
        *workloads_in(change, removed),
    )
    predicts = workloads_of("namespace", closed, "refused")
    return Raised(subject, f"{message}: {access}", removed[0].before, (), details, predicts)


def workloads_in(change: Change, removed: Sequence[Pair]) -> Iterator[str]:
    """Yields a sentence about the objects from --workloads in removed namespaces; nothing without such objects."""
    names = {pair.name for pair in removed}
    found = [manifest for manifest in change.workloads if manifest.namespace in names]
    yield from users_text("in the namespaces", found)
