"""Sample edits of a spec file, generated from the cluster. Every generator yields the preferred edits first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Pool, Queue, Tenant
from gpuc.rehearse.argocd.spec_edit import SpecFile

ADDED_NODES = 1
RENAME_REASON = "renamed in the rehearsal"
_SHARING_MODES = ("timeSlicing", "mps", "mig")
_TRIED_TYPES = 6

Step = Callable[[SpecFile], None]
"""A function that changes a spec file and saves the file."""


@dataclass(frozen=True)
class SampleEdit:
    """A change of the spec in one commit."""

    change: str
    """One line that describes the change of the spec."""
    apply: Step
    subject: tuple[str, str] = ("", "")
    """Kind and name of the object whose change is measured. Empty if the first changed object is measured."""


@dataclass(frozen=True)
class Removal:
    """The removal of an element from the spec in two commits."""

    kind: str
    """pool, tenant or queue."""
    name: str
    mark: Step
    """Sets `leaving: true` on the element, and on the queues that no other element uses."""
    unmark: Step
    """Removes the key `leaving` that `mark` sets."""
    remove: Step
    """Removes the element and every reference to it."""
    protected: tuple[tuple[str, str], ...]
    """Kind and name of the element's objects that workloads depend on."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def larger_pools(cluster: Cluster, except_pool: str = "") -> Iterator[SampleEdit]:
    """Yields edits that add a node to a pool: pools without GPUs first, static pools last.

    Static pools are last because the added node starts at once.
    """
    for pool in sorted(cluster.pools, key=lambda pool: (pool.is_static, pool.is_gpu)):
        if pool.name == except_pool or pool.spec.leaving:
            continue
        field, old = ("static", pool.spec.nodes.static) if pool.is_static else ("max", pool.spec.nodes.max)
        path, new = ("spec", "pools", pool.name, "nodes", field), (old or 0) + ADDED_NODES
        change = f"pools.{pool.name}.nodes.{field}: {old} -> {new}"
        yield SampleEdit(change, _set(path, new), ("NodePool", pool.name))


def instance_type_changes(cluster: Cluster) -> Iterator[SampleEdit]:
    """Yields edits that add an instance type with the same GPU to a pool, or remove the first of several types.

    GPU pools are first, static pools are last.
    """
    for pool in sorted(cluster.pools, key=lambda pool: (pool.is_static, not pool.is_gpu)):
        types = [instance.type for instance in pool.instances]
        more = [[*types, name] for name in _similar_types(cluster, pool)]
        fewer = [types[1:]] if len(types) > 1 else []
        for chosen in (*more[:_TRIED_TYPES], *fewer):
            change = f"pools.{pool.name}.instances: {', '.join(types)} -> {', '.join(chosen)}"
            path = ("spec", "pools", pool.name, "instances")
            yield SampleEdit(change, _set(path, chosen), ("NodePool", pool.name))


def stricter_policies(cluster: Cluster) -> Iterator[SampleEdit]:
    """Yields edits that change a policy from warn to deny."""
    for name in cluster.policies:
        if cluster.policy_stage(name) != "warn":
            continue
        settings = cluster.policy_settings(name)
        value = {"stage": "deny", **settings} if settings else "deny"
        yield SampleEdit(f"policies.{name}: warn -> deny", _set(("spec", "policies", name), value))


def removable_pools(cluster: Cluster) -> Iterator[Removal]:
    """Yields removals of pools: pools with GPU sharing first, static pools last.

    Pools with GPU sharing have additional objects. A pool that is the only pool of a queue cannot be removed.
    """
    for pool in sorted(cluster.pools, key=_pool_rank):
        queues = cluster.queues_of(pool)
        if not queues or any({other.name for other in queue.pools} == {pool.name} for queue in queues):
            continue  # every queue needs at least one pool
        path, protected = ("pools", pool.name), (("NodePool", pool.name),)
        yield Removal("pool", pool.name, _mark(path), _unmark(path), _remove_pool(pool, queues), protected)


def removable_queues(cluster: Cluster) -> Iterator[Removal]:
    """Yields removals of queues: first the queues whose tenants have another queue."""
    for queue in sorted(cluster.queues, key=lambda queue: _is_only_queue(cluster, queue)):
        protected = tuple(("ClusterQueue", part.name) for part in queue.cluster_queues)
        path = ("queues", queue.name)
        yield Removal("queue", queue.name, _mark(path), _unmark(path), _remove_queues(cluster, [queue]), protected)


def removable_tenants(cluster: Cluster) -> Iterator[Removal]:
    """Yields removals of tenants together with their unshared queues. The tenant with the fewest pools is first."""
    for tenant in sorted(cluster.tenants, key=lambda tenant: len(tenant.pools)):
        own = [queue for queue in tenant.queues if queue.tenant_names == (tenant.name,)]
        shared = [queue for queue in tenant.queues if queue not in own]
        protected = [("Namespace", namespace.name) for namespace in tenant.namespaces]
        protected += [("ClusterQueue", part.name) for queue in own for part in queue.cluster_queues]
        paths = (("tenants", tenant.name), *(("queues", queue.name) for queue in own))
        remove = _remove_tenant(cluster, tenant, own, shared)
        yield Removal("tenant", tenant.name, _mark(*paths), _unmark(*paths), remove, tuple(protected))


def renamed_tenants(cluster: Cluster) -> Iterator[SampleEdit]:
    """Yields edits that rename a tenant and not its namespaces. The tenant with the most namespaces is first."""
    for tenant in sorted(cluster.tenants, key=lambda tenant: -len(tenant.namespaces)):
        name = f"{tenant.name}-2"
        yield SampleEdit(
            f"tenants.{tenant.name} -> tenants.{name}",
            _rename_tenant(tenant, name),
            ("Namespace", tenant.namespaces[0].name),
        )


def _similar_types(cluster: Cluster, pool: Pool) -> list[str]:
    """Returns other instance types of the same family with the same GPU, in the order of the catalog."""
    first = pool.instances[0]
    used = [instance.type for instance in pool.instances]
    return [
        instance.type
        for instance in cluster.catalog.family(first.family)
        if instance.type not in used and instance.gpu == first.gpu
    ]


def _set(path: Path, value: object) -> Step:
    return lambda spec: spec.set(path, value)


def _pool_rank(pool: Pool) -> tuple[bool, bool, int]:
    kind = pool.sharing.kind if pool.sharing else ""
    return (
        bool(pool.always_running),
        bool(pool.dedicated_to),
        _SHARING_MODES.index(kind) if kind in _SHARING_MODES else len(_SHARING_MODES),
    )


def _is_only_queue(cluster: Cluster, queue: Queue) -> bool:
    """Returns whether a tenant has no other queue."""
    return any(len(tenant.queues) == 1 for tenant in cluster.tenants if queue in tenant.queues)


def _mark(*paths: Path) -> Step:
    def apply(spec: SpecFile) -> None:
        for path in paths:
            spec.set(("spec", *path, "leaving"), True)

    return apply


def _unmark(*paths: Path) -> Step:
    def apply(spec: SpecFile) -> None:
        for path in paths:
            spec.remove(("spec", *path, "leaving"))

    return apply


def _remove_queues(cluster: Cluster, removed: list[Queue]) -> Step:
    """Returns a step that removes queues.

    The step also removes borrowing limits of other queues for pools that no other queue of the cohort has any more.
    """

    def apply(spec: SpecFile) -> None:
        for queue in removed:
            spec.remove(("spec", "queues", queue.name))
        remaining = [queue for queue in cluster.queues if queue not in removed and queue.spec.cohort]
        for queue in remaining:
            others = [other for other in remaining if other is not queue and other.spec.cohort == queue.spec.cohort]
            lendable = {pool.name for other in others for pool in other.pools}
            for pool, quota in queue.spec.quota.items():
                if quota.borrow is not None and pool not in lendable:
                    spec.remove(("spec", "queues", queue.name, "quota", pool, "borrow"))

    return apply


def _remove_pool(pool: Pool, queues: tuple[Queue, ...]) -> Step:
    def apply(spec: SpecFile) -> None:
        for queue in queues:
            spec.remove(("spec", "queues", queue.name, "quota", pool.name))
        spec.remove(("spec", "pools", pool.name))

    return apply


def _remove_tenant(cluster: Cluster, tenant: Tenant, own: list[Queue], shared: list[Queue]) -> Step:
    def apply(spec: SpecFile) -> None:
        _remove_queues(cluster, own)(spec)
        for queue in shared:
            others = [name for name in queue.tenant_names if name != tenant.name]
            spec.set(("spec", "queues", queue.name, "tenants"), others)
        spec.remove(("spec", "tenants", tenant.name))

    return apply


def _rename_tenant(tenant: Tenant, name: str) -> Step:
    def apply(spec: SpecFile) -> None:
        spec.rename(("spec", "tenants", tenant.name), name)
        for queue in tenant.queues:
            names = [name if old == tenant.name else old for old in queue.tenant_names]
            spec.set(("spec", "queues", queue.name, "tenants"), names)
        spec.set(("spec", "removed", "tenants", tenant.name), RENAME_REASON)

    return apply
