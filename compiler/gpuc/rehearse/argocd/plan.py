"""Which edits a cluster allows: for every kind of edit the candidates, best first, as changes of its spec file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Pool, Queue, Tenant
from gpuc.rehearse.argocd.spec_edit import SpecFile

GROWS_BY = 1
WHY = "renamed in the rehearsal"
_MODES = ("timeSlicing", "mps", "mig")
_TYPES_TRIED = 6

Step = Callable[[SpecFile], None]
"""Changes a spec file and saves it."""


@dataclass(frozen=True)
class Candidate:
    """One way to make an edit."""

    what: str
    """The change of the spec in one line."""
    apply: Step
    subject: tuple[str, str] = ("", "")
    """Kind and name of the object that must change; empty where any object is meant."""


@dataclass(frozen=True)
class Departure:
    """An element that leaves the spec in two commits."""

    kind: str
    """pool, tenant or queue."""
    name: str
    leaving: Step
    """Marks it, and what goes with it."""
    back: Step
    """Takes the mark back."""
    out: Step
    """Takes it out, with every reference."""
    held: tuple[tuple[str, str], ...]
    """Kind and name of the objects that hold its work."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def growths(cluster: Cluster, besides: str = "") -> Iterator[Candidate]:
    """Pools that get one more node: general ones first, static ones last, because theirs start at once."""
    for pool in sorted(cluster.pools, key=lambda pool: (pool.is_static, pool.is_gpu)):
        if pool.name == besides or pool.spec.leaving:
            continue
        field, now = ("static", pool.spec.nodes.static) if pool.is_static else ("max", pool.spec.nodes.max)
        path, then = ("spec", "pools", pool.name, "nodes", field), (now or 0) + GROWS_BY
        what = f"pools.{pool.name}.nodes.{field}: {now} -> {then}"
        yield Candidate(what, _set(path, then), ("NodePool", pool.name))


def other_instances(cluster: Cluster) -> Iterator[Candidate]:
    """Pools that get another instance type of the same GPU, those with overlays first; or lose one of several."""
    for pool in sorted(cluster.pools, key=lambda pool: (pool.is_static, not pool.is_gpu)):
        types = [instance.type for instance in pool.instances]
        more = [[*types, name] for name in _relatives(cluster, pool)]
        fewer = [types[1:]] if len(types) > 1 else []
        for chosen in (*more[:_TYPES_TRIED], *fewer):
            what = f"pools.{pool.name}.instances: {', '.join(types)} -> {', '.join(chosen)}"
            path = ("spec", "pools", pool.name, "instances")
            yield Candidate(what, _set(path, chosen), ("NodePool", pool.name))


def stricter_policies(cluster: Cluster) -> Iterator[Candidate]:
    """Policies that only warn and are to refuse."""
    for name in cluster.policies:
        if cluster.policy_stage(name) != "warn":
            continue
        settings = cluster.policy_settings(name)
        value = {"stage": "deny", **settings} if settings else "deny"
        yield Candidate(f"policies.{name}: warn -> deny", _set(("spec", "policies", name), value))


def leaving_pools(cluster: Cluster) -> Iterator[Departure]:
    """Pools that may leave: shared ones first, whose configuration other objects hold; static ones last."""
    for pool in sorted(cluster.pools, key=_pool_rank):
        queues = cluster.queues_of(pool)
        if not queues or any({known.name for known in queue.pools} == {pool.name} for queue in queues):
            continue  # a queue without a pool is no queue
        path, held = ("pools", pool.name), (("NodePool", pool.name),)
        yield Departure("pool", pool.name, _mark(path), _unmark(path), _pool_out(pool, queues), held)


def leaving_queues(cluster: Cluster) -> Iterator[Departure]:
    """Queues that may leave: those first whose tenants have another one."""
    for queue in sorted(cluster.queues, key=lambda queue: _only_queue_of(cluster, queue)):
        held = tuple(("ClusterQueue", part.name) for part in queue.cluster_queues)
        path = ("queues", queue.name)
        yield Departure("queue", queue.name, _mark(path), _unmark(path), _queues_out(cluster, [queue]), held)


def leaving_tenants(cluster: Cluster) -> Iterator[Departure]:
    """Tenants that may leave, with the queues that only they use; the one with the fewest pools first."""
    for tenant in sorted(cluster.tenants, key=lambda tenant: len(tenant.pools)):
        own = [queue for queue in tenant.queues if queue.tenant_names == (tenant.name,)]
        shared = [queue for queue in tenant.queues if queue not in own]
        held = [("Namespace", namespace.name) for namespace in tenant.namespaces]
        held += [("ClusterQueue", part.name) for queue in own for part in queue.cluster_queues]
        paths = (("tenants", tenant.name), *(("queues", queue.name) for queue in own))
        out = _tenant_out(cluster, tenant, own, shared)
        yield Departure("tenant", tenant.name, _mark(*paths), _unmark(*paths), out, tuple(held))


def renamed_tenants(cluster: Cluster) -> Iterator[Candidate]:
    """Tenants that get another name and keep their namespaces: a removal and an addition in one commit."""
    for tenant in sorted(cluster.tenants, key=lambda tenant: -len(tenant.namespaces)):
        name = f"{tenant.name}-2"
        yield Candidate(
            f"tenants.{tenant.name} -> tenants.{name}",
            _tenant_renamed(tenant, name),
            ("Namespace", tenant.namespaces[0].name),
        )


def _relatives(cluster: Cluster, pool: Pool) -> list[str]:
    """Instance types with the same GPU of the same family, in the catalog's order."""
    known, own = cluster.catalog.instances.values(), pool.instances[0]
    named = [instance.type for instance in pool.instances]
    return [
        found.type for found in known if found.type not in named and (found.gpu, found.family) == (own.gpu, own.family)
    ]


def _set(path: Path, value: object) -> Step:
    return lambda spec: spec.set(path, value)


def _pool_rank(pool: Pool) -> tuple[bool, bool, int]:
    kind = pool.sharing.kind if pool.sharing else ""
    return pool.is_static, bool(pool.dedicated_to), _MODES.index(kind) if kind in _MODES else len(_MODES)


def _only_queue_of(cluster: Cluster, queue: Queue) -> bool:
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


def _queues_out(cluster: Cluster, leavers: list[Queue]) -> Step:
    """Takes queues out, and what others wanted to borrow of pools that no other queue of their cohort has."""

    def apply(spec: SpecFile) -> None:
        for queue in leavers:
            spec.remove(("spec", "queues", queue.name))
        staying = [queue for queue in cluster.queues if queue not in leavers and queue.spec.cohort]
        for queue in staying:
            mates = [mate for mate in staying if mate is not queue and mate.spec.cohort == queue.spec.cohort]
            lent = {pool.name for mate in mates for pool in mate.pools}
            for pool, quota in queue.spec.quota.items():
                if quota.borrow is not None and pool not in lent:
                    spec.remove(("spec", "queues", queue.name, "quota", pool, "borrow"))

    return apply


def _pool_out(pool: Pool, queues: tuple[Queue, ...]) -> Step:
    def apply(spec: SpecFile) -> None:
        for queue in queues:
            spec.remove(("spec", "queues", queue.name, "quota", pool.name))
        spec.remove(("spec", "pools", pool.name))

    return apply


def _tenant_out(cluster: Cluster, tenant: Tenant, own: list[Queue], shared: list[Queue]) -> Step:
    def apply(spec: SpecFile) -> None:
        _queues_out(cluster, own)(spec)
        for queue in shared:
            left = [name for name in queue.tenant_names if name != tenant.name]
            spec.set(("spec", "queues", queue.name, "tenants"), left)
        spec.remove(("spec", "tenants", tenant.name))

    return apply


def _tenant_renamed(tenant: Tenant, name: str) -> Step:
    def apply(spec: SpecFile) -> None:
        spec.rename(("spec", "tenants", tenant.name), name)
        for queue in tenant.queues:
            names = [name if known == tenant.name else known for known in queue.tenant_names]
            spec.set(("spec", "queues", queue.name, "tenants"), names)
        spec.set(("spec", "removed", "tenants", tenant.name), WHY)

    return apply
