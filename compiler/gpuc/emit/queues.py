"""ClusterQueues: who may submit, how much of which pool, and who gives way."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.sync import kept
from gpuc.kubernetes.amounts import quantity_text
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.quantity import format_quantity
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, ClusterQueue, Queue, Share
from gpuc.model.names import TENANT_KEY

_STRATEGY = {"best-effort": "BestEffortFIFO", "strict": "StrictFIFO"}
_WITHIN_QUEUE = {
    "never": "Never",
    "lower-priority": "LowerPriority",
    "lower-or-newer": "LowerOrNewerEqualPriority",
}
_RECLAIM = {"never": "Never", "lower-priority": "LowerPriority", "any": "Any"}
_BORROWING = {"never": "Never", "lower-priority": "LowerPriority"}


def queue_objects(cluster: Cluster, queue: Queue) -> Iterator[Manifest]:
    """The ClusterQueues of one queue, in a file of its name."""
    file = cluster.out(f"kueue/queues/{queue.name}.yaml")
    for part in queue.cluster_queues:
        body: Body = {"spec": _spec(cluster, queue, part)}
        # Kept also while it leaves: Kueue's finalizer holds it until its last admitted workload has ended.
        notes = kept(cluster, 2)
        yield Manifest(file, queue.path, KUEUE_API, "ClusterQueue", part.name, body, annotations=notes)


def fair_share(cluster: Cluster, weight: int) -> Body:
    """The weight where the cluster shares fairly; nothing where it does not."""
    return {"fairSharing": {"weight": format_quantity(weight)}} if cluster.spec.queueing.fair_sharing else {}


def _spec(cluster: Cluster, queue: Queue, part: ClusterQueue) -> Body:
    """Defaults of the API server are written out, so that nothing it stores differs from what is committed."""
    preempt = queue.spec.preempt
    covered = part.covered_resources
    has_cohort = queue.spec.cohort is not None
    tenants = {"key": TENANT_KEY, "operator": "In", "values": list(queue.tenant_names)}
    group = {
        "coveredResources": list(covered),
        "flavors": [_flavor(share, covered, has_cohort) for share in part.shares],
    }
    return {
        **({"cohortName": queue.spec.cohort} if has_cohort else {}),
        "namespaceSelector": {"matchExpressions": [tenants]},
        "queueingStrategy": _STRATEGY[queue.spec.strategy],
        "stopPolicy": "None",
        # The next pool is tried before anything is borrowed or anybody gives way.
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "withinClusterQueue": _WITHIN_QUEUE[preempt.within_queue],
            "reclaimWithinCohort": _RECLAIM[preempt.reclaim],
            "borrowWithinCohort": {"policy": _BORROWING[preempt.borrowing]},
        },
        **fair_share(cluster, queue.spec.weight),
        "resourceGroups": [group],
    }


def _flavor(share: Share, covered: tuple[str, ...], has_cohort: bool) -> Body:
    """One pool's quota of every covered resource, "0" of what it does not have, in the order of the group.

    A pool that leaves has no quota in any queue. Nothing more is admitted to it, and nothing that runs there is
    preempted for it: Kueue preempts only for work that fits into the quota of the whole cohort.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go
    """
    return {"name": share.pool.name, "resources": [_quota(share, name, has_cohort) for name in covered]}


def _quota(share: Share, resource: str, has_cohort: bool) -> Body:
    if share.pool.spec.leaving:
        return {"name": resource, "nominalQuota": "0"}
    quota = {"name": resource, "nominalQuota": quantity_text(resource, share.nominal.get(resource, 0))}
    if has_cohort and resource in share.nominal:
        for key, limit in (("borrowingLimit", share.borrow), ("lendingLimit", share.lend)):
            if limit is not None:
                quota[key] = quantity_text(resource, limit[resource])
    return quota
