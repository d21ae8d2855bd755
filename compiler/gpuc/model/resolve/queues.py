"""Resolves queues and cohorts: converts quotas from the units of the spec to amounts of resources."""

from __future__ import annotations

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.unknown import elements, known, none_if_unknown
from gpuc.kubernetes.amounts import Amounts, total
from gpuc.model.cluster import SPEC
from gpuc.model.pool import Pool
from gpuc.model.queue import ClusterQueue, Cohort, PoolQuota, Queue
from gpuc.model.resolve.names import UNRESOLVED, unknown
from gpuc.model.resolve.quota_units import QUOTA_UNIT, resources, slice_resources
from gpuc.spec.cluster import Spec
from gpuc.spec.queues import Limit, PoolAmount, Quota
from gpuc.spec.queues import Queue as QueueSpec

LIMIT_UNIT = declare_rule(
    "KUE102", Severity.ERROR, "A borrowing or lending limit does not have the unit of its quota.",
    "The borrowing and lending limits must be in the same unit as the quota.",
)  # fmt: skip
COHORT_CYCLE = declare_rule(
    "KUE103", Severity.ERROR, "Parents of cohorts form a cycle.",
    "Kueue deactivates every ClusterQueue in these cohorts.",
    "kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler",
)  # fmt: skip


def resolve_queues(spec: Spec, pools: dict[str, Pool], findings: list[Finding]) -> tuple[Queue, ...]:
    """Resolves the queues and returns the queues in the order of the spec."""
    if finding := _no_tenants(spec):
        findings.append(finding)
    return elements(_queue(name, queue_spec, spec, pools, findings) for name, queue_spec in spec.queues.items())


@none_if_unknown
def _no_tenants(spec: Spec) -> Finding | None:
    """Returns the finding that the spec has queues, and none of the tenants whose workloads the queues admit."""
    if spec.tenants or not spec.queues:
        return None
    names = dict.fromkeys(tenant for queue in spec.queues.values() for tenant in queue.tenants)
    message = f"the spec has queues, but no tenants; expected a section tenants with {', '.join(names)}"
    return UNRESOLVED.at((*SPEC, "queues"), message, on_key=True)


@none_if_unknown
def _queue(
    name: str, queue_spec: QueueSpec, spec: Spec, pools: dict[str, Pool], findings: list[Finding]
) -> Queue | None:
    path: Path = (*SPEC, "queues", name)
    for index, tenant in enumerate(queue_spec.tenants):
        if spec.tenants and tenant not in spec.tenants:
            findings.append(unknown("tenant", tenant, spec.tenants, (*path, "tenants", index)))
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
        return total([nothing, slice_resources(pool, limit)])
    if quota.slices is not None:
        raise ValueError(f"{limit} does not name a MIG profile; expected numbers by MIG profile or all")
    counts = {"nodes": quota.nodes, "gpus": quota.gpus, "shares": quota.shares}
    unit = next(name for name, count in counts.items() if count is not None)
    return resources(pool, PoolAmount.model_validate({unit: limit}))


def resolve_cohorts(spec: Spec, queues: tuple[Queue, ...], findings: list[Finding]) -> tuple[Cohort, ...]:
    """Resolves the cohorts, and returns the cohorts in the order of the spec.

    A cohort has all queues of its tree: the queues below the root, also the queues of parent and sibling cohorts.
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
