"""Converts the queues and cohorts of a spec: quotas in nodes, GPUs, slices or shares become amounts of resources."""

from gpuc.diagnostics.finding import Finding, Path
from gpuc.diagnostics.unknown import elements, known, none_if_unknown
from gpuc.kubernetes.amounts import Amounts, round_down, scale, total
from gpuc.model.cluster import SPEC
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.names import GPU, SHARED_GPU
from gpuc.model.pool import Pool
from gpuc.model.queue import ClusterQueue, Cohort, PoolQuota, Queue
from gpuc.model.resolve.names import UNRESOLVED, rule_of, unknown, unknown_names
from gpuc.spec.cluster import Spec
from gpuc.spec.queues import Limit, PoolAmount, Quota
from gpuc.spec.queues import Queue as QueueSpec

QUOTA_UNIT = rule_of("KUE101")
LIMIT_UNIT = rule_of("KUE102")
COHORT_CYCLE = rule_of("KUE103")


def resolve_queues(spec: Spec, pools: dict[str, Pool], findings: list[Finding]) -> tuple[Queue, ...]:
    """Returns the queues of the spec in their order. For a queue with a mistake, adds a finding to `findings`."""
    if finding := _no_tenants(spec):
        findings.append(finding)
    return elements(_queue(name, queue_spec, spec, pools, findings) for name, queue_spec in spec.queues.items())


@none_if_unknown
def _no_tenants(spec: Spec) -> Finding | None:
    """Returns the finding that the spec has queues, and none of the tenants whose workloads the queues admit."""
    if spec.tenants or not spec.queues:
        return None
    names = dict.fromkeys(tenant for queue in spec.queues.values() for tenant in queue.tenants)
    message = f"the spec has the section queues, but no section tenants; expected the tenants {', '.join(names)} there"
    return UNRESOLVED.at((*SPEC, "queues"), message, on_key=True)


@none_if_unknown
def _queue(
    name: str, queue_spec: QueueSpec, spec: Spec, pools: dict[str, Pool], findings: list[Finding]
) -> Queue | None:
    path: Path = (*SPEC, "queues", name)
    if spec.tenants:
        findings += unknown_names("tenant", queue_spec.tenants, spec.tenants, (*path, "tenants"))
    if queue_spec.cohort is not None and queue_spec.cohort not in spec.cohorts:
        findings.append(unknown("cohort", queue_spec.cohort, spec.cohorts, (*path, "cohort")))
    pool_quotas: list[PoolQuota | None] = []
    for pool_name, quota in queue_spec.quota.items():
        where = (*path, "quota", pool_name)
        if pool_name not in spec.pools:
            findings.append(unknown("node pool", pool_name, spec.pools, where, on_key=True))
        elif pool_name in pools:  # otherwise the pool has a finding
            pool_quotas.append(_pool_quota(pools[pool_name], quota, where, queue_spec.cohort is not None, findings))
        else:
            pool_quotas.append(None)
    cluster_queues = known(lambda: _cluster_queues(name, elements(pool_quotas)))
    return Queue(name, path, queue_spec, tuple(queue_spec.tenants), cluster_queues)


def _cluster_queues(name: str, pool_quotas: tuple[PoolQuota, ...]) -> tuple[ClusterQueue, ...]:
    """Returns a ClusterQueue for GPU pools and a ClusterQueue for general pools. Empty ClusterQueues are left out.

    A common ClusterQueue would admit CPU workloads to GPU nodes.
    """
    gpu = tuple(pool_quota for pool_quota in pool_quotas if pool_quota.pool.is_gpu)
    general = tuple(pool_quota for pool_quota in pool_quotas if not pool_quota.pool.is_gpu)
    cluster_queues = (ClusterQueue(name, gpu), ClusterQueue(f"{name}-cpu", general))
    return tuple(cluster_queue for cluster_queue in cluster_queues if cluster_queue.pool_quotas)


@none_if_unknown
def _pool_quota(pool: Pool, quota: Quota, path: Path, in_cohort: bool, findings: list[Finding]) -> PoolQuota | None:
    try:
        nominal = resources(pool, quota)
    except ValueError as error:
        findings.append(QUOTA_UNIT.at(path, f"{error}", on_key=True))
        return None
    nothing = dict.fromkeys(nominal, 0)
    limits: dict[str, Amounts | None] = {}
    for key, limit in (("borrow", quota.borrow), ("lend", quota.lend)):
        try:
            limits[key] = _limit(pool, quota, limit) if in_cohort else nothing
        except ValueError as error:
            findings.append(LIMIT_UNIT.at((*path, key), f"{error}"))
            return None
    return PoolQuota(pool, path, quota, nominal, limits["borrow"], limits["lend"])


def _limit(pool: Pool, quota: Quota, limit: Limit) -> Amounts | None:
    """Converts a borrowing or lending limit to amounts of all resources of the pool. None means no limit.

    Raises:
        ValueError: when the limit does not have the unit of the quota.
    """
    if limit == "all":
        return None
    nothing = dict.fromkeys(pool.node, 0)
    if limit == 0:
        return nothing
    if isinstance(limit, dict):
        if quota.slices is None:
            raise ValueError("numbers by MIG profile need a quota in slices; expected a number or all")
        return total([nothing, _slice_resources(pool, limit)])
    if quota.slices is not None:
        raise ValueError(f"{limit} does not name a MIG profile; expected numbers by MIG profile or all")
    counts = {"nodes": quota.nodes, "gpus": quota.gpus, "shares": quota.shares}
    unit = next(name for name, count in counts.items() if count is not None)
    return resources(pool, PoolAmount.model_validate({unit: limit}))


def resources(pool: Pool, amount: PoolAmount) -> Amounts:
    """Converts a quota of the spec, such as 4 nodes, into amounts of all resources of the pool.

    Raises:
        ValueError: when the pool does not have the unit of the quota, for example MIG slices.
    """
    if amount.nodes is not None:
        return scale(pool.node, amount.nodes)
    if amount.shares is not None:
        return _gpu_shares(pool, amount.shares)
    return total([
        dict.fromkeys(pool.node, 0),
        _slice_resources(pool, amount.slices or {}),
        _gpus(pool, amount.gpus) if amount.gpus is not None else {},
    ])  # fmt: skip


def _gpus(pool: Pool, count: int) -> Amounts:
    if not isinstance(pool, GpuPool):
        raise ValueError(f"node pool {pool.name} has no GPUs; expected a quota in nodes")
    if pool.sharing.mode == "exclusive":
        return round_down(scale(pool.node, count, pool.gpus_per_node))
    if pool.sharing.whole_gpus:
        return scale(pool.portions[GPU], count)
    unit = "slices" if pool.sharing.mode == "mig" else "shares"
    raise ValueError(f"node pool {pool.name} has no whole GPUs; expected a quota in {unit}")


def _slice_resources(pool: Pool, counts: dict[str, int]) -> Amounts:
    """Returns the amounts for MIG slices: the slices, and their fraction of cpu, memory and ephemeral storage."""
    amounts = []
    for profile, count in counts.items():
        if pool.sharing is None or pool.sharing.mode != "mig":
            unit = "shares" if pool.sharing and pool.sharing.mode == "shared" else "nodes"
            raise ValueError(f"node pool {pool.name} has no MIG slices; expected a quota in {unit}")
        available = pool.sharing.slices()
        if profile not in available:
            raise ValueError(f"node pool {pool.name} has no {profile} slices; expected one of {', '.join(available)}")
        amounts.append(scale(pool.portions[pool.sharing.resource(profile)], count))
    return total(amounts)


def _gpu_shares(pool: Pool, count: int) -> Amounts:
    if pool.sharing is None or pool.sharing.mode != "shared":
        raise ValueError(f"node pool {pool.name} has no GPU shares; expected a quota in nodes")
    return scale(pool.portions[SHARED_GPU], count)


def resolve_cohorts(spec: Spec, queues: tuple[Queue, ...], findings: list[Finding]) -> tuple[Cohort, ...]:
    """Returns the cohorts of the spec in their order. For a cohort with a mistake, adds a finding to `findings`.

    `queues` of a cohort contains all queues of its tree, including the queues of parent and sibling cohorts.
    """
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
            message = f"the parents of cohort {name} form a cycle: {' -> '.join([*chain, str(parent)])}"
            findings.append(COHORT_CYCLE.at((*path, "parent"), message))
        roots[name] = chain[-1]
    return tuple(
        Cohort(name, (*SPEC, "cohorts", name), spec.cohorts[name],
               tuple(queue for queue in queues if roots.get(queue.spec.cohort or "") == root))
        for name, root in roots.items()
    )  # fmt: skip
