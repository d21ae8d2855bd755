"""ClusterQueues and the objects that they name: ResourceFlavors, Topologies, Cohorts and WorkloadPriorityClasses."""

from collections.abc import Iterator

from gpuc.emit.sync import protected, wave
from gpuc.kubernetes.amounts import quantity_text
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.quantity import format_quantity
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, ClusterQueue, Cohort, Pool, PoolQuota, Queue
from gpuc.model.names import POOL_LABEL, TENANT_KEY
from gpuc.model.time_limits import queued_pools


def shared_objects(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the Topologies and ResourceFlavors of the pools with quota, the priorities, and the Cohorts."""
    pools = queued_pools(cluster)
    yield from _topologies(cluster, pools)
    yield from (_flavor(cluster, pool) for pool in pools)
    yield from _priorities(cluster)
    yield from (_cohort(cluster, cohort) for cohort in cluster.cohorts)


def _topologies(cluster: Cluster, pools: tuple[Pool, ...]) -> Iterator[Manifest]:
    """Yields one Topology per list of topology levels.

    A Topology is protected, because the finalizer of Kueue keeps the Topology until no ResourceFlavor refers to it.
    """
    for name, pool in sorted({pool.topology_name: pool for pool in reversed(pools) if pool.spec.topology}.items()):
        file = cluster.out(f"kueue/config/topologies/{name}.yaml")
        levels = [{"nodeLabel": label} for label in pool.level_labels.values()]
        body: Body = {"spec": {"levels": levels}}
        yield Manifest(
            file, (*pool.path, "topology"), KUEUE_API, "Topology", name, body, annotations=protected(cluster, 0)
        )


def _flavor(cluster: Cluster, pool: Pool) -> Manifest:
    """Returns the ResourceFlavor of a pool, with tolerations of the taints of the pool, but not of the startup taints.

    A ResourceFlavor is protected, because the finalizer of Kueue keeps it until no ClusterQueue refers to it.
    """
    spec: Body = {"nodeLabels": {POOL_LABEL: pool.name}}
    if pool.taints:
        spec["tolerations"] = [taint.toleration() for taint in pool.taints]
    if pool.spec.topology:
        spec["topologyName"] = pool.topology_name
    file = cluster.out(f"kueue/config/flavors/{pool.name}.yaml")
    return Manifest(
        file, pool.path, KUEUE_API, "ResourceFlavor", pool.name, {"spec": spec}, annotations=protected(cluster, 0)
    )


def _priorities(cluster: Cluster) -> Iterator[Manifest]:
    """Yields WorkloadPriorityClasses. With PriorityClasses, the scheduler would preempt pods of other queues."""
    file = cluster.out("kueue/config/priorities.yaml")
    for name, priority in cluster.spec.priorities.items():
        origin, body = ("spec", "priorities", name), {"value": priority.value}
        yield Manifest(file, origin, KUEUE_API, "WorkloadPriorityClass", name, body, annotations=wave(1))


def _cohort(cluster: Cluster, cohort: Cohort) -> Manifest:
    spec: Body = {"parentName": cohort.spec.parent} if cohort.spec.parent else {}
    spec |= fair_share(cluster, cohort.spec.weight)
    file = cluster.out(f"kueue/config/cohorts/{cohort.name}.yaml")
    return Manifest(
        file, cohort.path, KUEUE_API, "Cohort", cohort.name, {"spec": spec} if spec else {}, annotations=wave(1)
    )


_STRATEGY = {"best-effort": "BestEffortFIFO", "strict": "StrictFIFO"}
_PREEMPT = {
    "never": "Never", "lower-priority": "LowerPriority", "lower-or-newer": "LowerOrNewerEqualPriority", "any": "Any",
}  # fmt: skip


def queue_objects(cluster: Cluster, queue: Queue) -> Iterator[Manifest]:
    """Yields the ClusterQueues of a queue."""
    file = cluster.out(f"kueue/queues/{queue.name}.yaml")
    for cluster_queue in queue.cluster_queues:
        body: Body = {"spec": _spec(cluster, queue, cluster_queue)}
        # Protected even if the queue is leaving: the finalizer of Kueue keeps the ClusterQueue until the last admitted
        # workload has ended.
        annotations = protected(cluster, 2)
        yield Manifest(file, queue.path, KUEUE_API, "ClusterQueue", cluster_queue.name, body, annotations=annotations)


def fair_share(cluster: Cluster, weight: int) -> Body:
    """Returns a map such as {fairSharing: {weight: 2}}; an empty map if the cluster does not use fair sharing."""
    return {"fairSharing": {"weight": format_quantity(weight)}} if cluster.spec.queueing.fair_sharing else {}


def _spec(cluster: Cluster, queue: Queue, cluster_queue: ClusterQueue) -> Body:
    """Returns the spec of a ClusterQueue with all API defaults, so that the live object does not differ from Git."""
    preempt = queue.spec.preempt
    covered = cluster_queue.covered_resources
    has_cohort = queue.spec.cohort is not None
    tenants = {"key": TENANT_KEY, "operator": "In", "values": list(queue.tenant_names)}
    group = {
        "coveredResources": list(covered),
        "flavors": [_flavor_quotas(pool_quota, covered, has_cohort) for pool_quota in cluster_queue.pool_quotas],
    }
    return {
        **({"cohortName": queue.spec.cohort} if has_cohort else {}),
        "namespaceSelector": {"matchExpressions": [tenants]},
        "queueingStrategy": _STRATEGY[queue.spec.strategy],
        "stopPolicy": "None",
        # Kueue tries the next flavor before it borrows or preempts.
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "withinClusterQueue": _PREEMPT[preempt.within_queue],
            "reclaimWithinCohort": _PREEMPT[preempt.reclaim],
            "borrowWithinCohort": {"policy": _PREEMPT[preempt.borrowing]},
        },
        **fair_share(cluster, queue.spec.weight),
        "resourceGroups": [group],
    }


def _flavor_quotas(pool_quota: PoolQuota, covered: tuple[str, ...], has_cohort: bool) -> Body:
    """Returns the quotas of a flavor for all covered resources. The quota is "0" for resources of other pools.

    A pool that is leaving or on hold has no quota. Kueue then admits no new workloads to the pool, and does not preempt
    its running workloads, because Kueue preempts only for workloads that fit into the quota of the cohort.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go
    """
    return {"name": pool_quota.pool.name, "resources": [_quota(pool_quota, name, has_cohort) for name in covered]}


def _quota(pool_quota: PoolQuota, resource: str, has_cohort: bool) -> Body:
    if not pool_quota.pool.admits_workloads:
        return {"name": resource, "nominalQuota": "0"}
    quota = {"name": resource, "nominalQuota": quantity_text(resource, pool_quota.nominal.get(resource, 0))}
    if has_cohort and resource in pool_quota.nominal:
        for key, limit in (("borrowingLimit", pool_quota.borrow), ("lendingLimit", pool_quota.lend)):
            if limit is not None:
                quota[key] = quantity_text(resource, limit[resource])
    return quota
