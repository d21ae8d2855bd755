"""Resolves queues and cohorts: converts quotas from the units of the spec to amounts of resources."""

from __future__ import annotations

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.kubernetes.amounts import Amounts, scale, total
from gpuc.model.cluster import SPEC
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.names import GPU, SHARED_GPU
from gpuc.model.pool import Pool
from gpuc.model.queue import ClusterQueue, Cohort, Queue, Share
from gpuc.model.resolve.names import unknown
from gpuc.spec.cluster import Spec
from gpuc.spec.queues import Limit, Quota

UNIT = declare_rule(
    "KUE101", Severity.ERROR, "A quota has a unit that its node pool does not have.",
    "A quota for a resource that no node advertises admits no workload, or limits nothing.",
)  # fmt: skip
PART = declare_rule(
    "KUE102", Severity.ERROR, "A borrowing or lending limit does not have the unit of its quota.",
    "The borrowing and lending limits must be in the same unit as the quota.",
)  # fmt: skip
COHORT_CYCLE = declare_rule(
    "KUE103", Severity.ERROR, "Parents of cohorts form a cycle.",
    "Kueue deactivates every queue in these cohorts.",
    "kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler",
)  # fmt: skip


def resolve_queues(spec: Spec, pools: dict[str, Pool], findings: list[Finding]) -> tuple[Queue, ...]:
    """Resolves the queues and returns them in the order of the spec."""
    queues = []
    for name, queue_spec in spec.queues.items():
        path: Path = (*SPEC, "queues", name)
        for index, tenant in enumerate(queue_spec.tenants):
            if tenant not in spec.tenants:
                findings.append(unknown("tenant", tenant, spec.tenants, (*path, "tenants", index)))
        if queue_spec.cohort is not None and queue_spec.cohort not in spec.cohorts:
            findings.append(unknown("cohort", queue_spec.cohort, spec.cohorts, (*path, "cohort")))
        shares = []
        for pool_name, quota in queue_spec.quota.items():
            where = (*path, "quota", pool_name)
            if pool_name not in spec.pools:
                findings.append(unknown("node pool", pool_name, spec.pools, where, on_key=True))
            elif pool_name in pools:  # otherwise the pool itself has a finding
                share = _share(pools[pool_name], quota, where, queue_spec.cohort is not None, findings)
                shares += [share] if share else []
        queues.append(Queue(name, path, queue_spec, tuple(queue_spec.tenants), _cluster_queues(name, shares)))
    return tuple(queues)


def _cluster_queues(name: str, shares: list[Share]) -> tuple[ClusterQueue, ...]:
    """Returns ClusterQueues for GPU pools and for general pools. A common one would run CPU workloads on GPU nodes."""
    gpu = tuple(share for share in shares if share.pool.is_gpu)
    general = tuple(share for share in shares if not share.pool.is_gpu)
    return tuple(ClusterQueue(queue, part) for queue, part in ((name, gpu), (f"{name}-cpu", general)) if part)


def _share(pool: Pool, quota: Quota, path: Path, in_cohort: bool, findings: list[Finding]) -> Share | None:
    try:
        nominal = _nominal(pool, quota)
    except ValueError as error:
        findings.append(UNIT.at(path, f"{error}", on_key=True))
        return None
    nothing = dict.fromkeys(nominal, 0)
    parts: dict[str, Amounts | None] = {}
    for key, part in (("borrow", quota.borrow), ("lend", quota.lend)):
        try:
            parts[key] = _part(pool, quota, part) if in_cohort else nothing
        except ValueError as error:
            findings.append(PART.at((*path, key), f"{error}"))
            return None
    return Share(pool, path, nominal, parts["borrow"], parts["lend"])


def _nominal(pool: Pool, quota: Quota) -> Amounts:
    """Converts the quota to amounts of all resources of the pool.

    Raises:
        ValueError: when the pool does not have the unit of the quota.
    """
    if quota.nodes is not None:
        return scale(pool.node, quota.nodes)
    if quota.shares is not None:
        return _shares(pool, quota.shares)
    return total([
        dict.fromkeys(pool.node, 0),
        _slices(pool, quota.slices or {}),
        _gpus(pool, quota.gpus) if quota.gpus is not None else {},
    ])  # fmt: skip


def _part(pool: Pool, quota: Quota, part: Limit) -> Amounts | None:
    if part == "all":
        return None
    nothing = dict.fromkeys(pool.node, 0)
    if part == 0:
        return nothing
    if isinstance(part, dict):
        if quota.slices is None:
            raise ValueError("numbers by MIG profile need a quota in slices; expected a number or all")
        return total([nothing, _slices(pool, part)])
    if quota.slices is not None:
        raise ValueError(f"{part} does not name a MIG profile; expected numbers by MIG profile or all")
    counts = {"nodes": quota.nodes, "gpus": quota.gpus, "shares": quota.shares}
    unit = next(name for name, count in counts.items() if count is not None)
    return _nominal(pool, Quota.model_validate({unit: part}))


def _gpus(pool: Pool, count: int) -> Amounts:
    if not isinstance(pool, GpuPool):
        raise ValueError(f"node pool {pool.name} has no GPUs; expected a quota in nodes")
    if pool.sharing.mode == "exclusive":
        return scale(pool.node, count, pool.gpus_per_node)
    if pool.sharing.whole_gpus:
        return {**scale(pool.base_resources, count, pool.gpus_per_node), GPU: count}
    unit = "slices" if pool.sharing.mode == "mig" else "shares"
    raise ValueError(f"node pool {pool.name} has no whole GPUs; expected a quota in {unit}")


def _slices(pool: Pool, counts: dict[str, int]) -> Amounts:
    """Returns the amounts for slices and their part of the node. Parts are rounded down, so that all slices fit."""
    parts = []
    for profile, count in counts.items():
        if pool.sharing is None or pool.sharing.mode != "mig":
            unit = "shares" if pool.sharing and pool.sharing.mode == "shared" else "nodes"
            raise ValueError(f"node pool {pool.name} has no MIG slices; expected a quota in {unit}")
        available = pool.sharing.slices()
        if profile not in available:
            raise ValueError(f"node pool {pool.name} has no {profile} slices; expected one of {', '.join(available)}")
        parts.append(scale(pool.portions[pool.sharing.resource(profile)], count))
    return total(parts)


def _shares(pool: Pool, count: int) -> Amounts:
    if pool.sharing is None or pool.sharing.mode != "shared":
        raise ValueError(f"node pool {pool.name} has no GPU shares; expected a quota in nodes")
    return scale(pool.portions[SHARED_GPU], count)


def resolve_cohorts(spec: Spec, queues: tuple[Queue, ...], findings: list[Finding]) -> tuple[Cohort, ...]:
    """Resolves the cohorts. Returns them in the order of the spec, with the queues of the complete tree of cohorts."""
    roots: dict[str, str] = {}
    for name, cohort_spec in spec.cohorts.items():
        path: Path = (*SPEC, "cohorts", name)
        if cohort_spec.parent is not None and cohort_spec.parent not in spec.cohorts:
            findings.append(unknown("cohort", cohort_spec.parent, spec.cohorts, (*path, "parent")))
            continue
        chain = [name]
        while (parent := spec.cohorts[chain[-1]].parent) in spec.cohorts and parent not in chain:
            chain.append(str(parent))
        if parent in chain:
            findings.append(
                COHORT_CYCLE.at(
                    (*path, "parent"),
                    f"the parents of cohort {name} form a cycle: {' -> '.join([*chain, str(parent)])}",
                )
            )
        roots[name] = chain[-1]
    return tuple(
        Cohort(name, (*SPEC, "cohorts", name), spec.cohorts[name],
               tuple(queue for queue in queues if roots.get(queue.spec.cohort or "") == root))
        for name, root in roots.items()
    )  # fmt: skip
