from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_policy import outcome_without_queue
from gpuc.plan.queue_usage import named, uses
from gpuc.plan.quota_changes import flavor_text, flavors, loses, queue_name, quota_changes, quota_text, tree


@impact(
    "IMP215",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/core/workload_controller.go, reconcileOnLocalQueueActiveState; "
    "clusterqueue_controller.go, Reconcile",
)
def queue_removed(change: Change) -> Impacts:
    """A queue is removed.

    Running workloads continue. Workloads that wait in the queue are never admitted. Kueue keeps a ClusterQueue that is
    deleted until its last running workload has ended.
    """
    remaining = {queue_name(pair) for pair in change.pairs(GROUP, "ClusterQueue") if not pair.is_removed}
    removed: dict[str, list[Pair]] = {}
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if queue_name(pair) not in remaining:
            removed.setdefault(queue_name(pair), []).append(pair)
    nodes, changes, found = tree(change.before), list(quota_changes(change)), uses(change)
    for name, pairs in removed.items():
        quotas = [
            f"{quota_text(change.before, nodes[pair.name], flavor)} on {flavor_text(change, flavor)}"
            for pair in pairs
            for flavor in flavors(pair, after=False)
        ]
        names = [pair.name for pair in pairs]
        users = [use.manifest for use in found if use.cluster_queue in names]
        details = (
            "workloads that run continue; workloads that wait stay suspended until they get another queue",
            *_deletion(change, pairs),
            *loses(change, changes),
            *((f"objects of --workloads in the queue: {named(users)}",) if users else ()),
        )
        message = f"is removed with its quota: {'; '.join(quotas)}"
        yield Raised(f"queue {name}", message, pairs[0].before, (), details, _predictions(change, name, names))


def _deletion(change: Change, pairs: list[Pair]) -> tuple[str, ...]:
    """Returns what happens with the ClusterQueues."""
    left = [pair.manifest for pair in pairs if is_left(change, pair.manifest)]
    if not left:
        return ("Argo CD deletes the ClusterQueue; Kueue keeps it until the last running workload has ended",)
    names = " ".join(one.name for one in left)
    cohort = dig(left[0].body, "spec", "cohortName")
    lent = f", and cohort {cohort} can still borrow its quota" if cohort else ""
    return (
        f"Argo CD leaves the ClusterQueue in the cluster{lent}; delete it with kubectl delete clusterqueue {names}; "
        "Kueue then keeps it until the last running workload has ended",
    )


def _predictions(change: Change, name: str, cluster_queues: list[str]) -> tuple[Prediction, ...]:
    """Returns the outcome for new workloads, if the LocalQueues of the queue admitted workloads until now."""
    local = [
        pair.before
        for pair in change.pairs(GROUP, "LocalQueue")
        if pair.before and pair.is_removed and dig(pair.before.body, "spec", "clusterQueue") in cluster_queues
    ]
    open_ones = [one for one in local if dig(one.body, "spec", "stopPolicy") in (None, "None")]
    outcomes = dict.fromkeys(outcome_without_queue(change, one.namespace) for one in open_ones)
    return tuple(Prediction(f"workloads of queue {name}", outcome) for outcome in outcomes)
