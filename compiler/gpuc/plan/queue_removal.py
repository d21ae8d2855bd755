"""Queues that Git does not contain any more."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_policy import outcome_without_queue
from gpuc.plan.queue_stop import HOLD
from gpuc.plan.queue_usage import named, uses
from gpuc.plan.quota_changes import flavor_text, flavors, loses, queue_name, quota_changes, quota_text, tree


def removed_queues(change: Change, *, after_leaving: bool) -> Iterator[Raised]:
    """Yields an impact for each queue that is removed.

    Args:
        after_leaving: whether the queue had left: whether its LocalQueues admitted no workloads before the change.
    """
    remaining = {queue_name(pair) for pair in change.pairs(GROUP, "ClusterQueue") if not pair.is_removed}
    removed: dict[str, list[Pair]] = {}
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if queue_name(pair) not in remaining:
            removed.setdefault(queue_name(pair), []).append(pair)
    for name, pairs in removed.items():
        local = _local_queues(change, [pair.name for pair in pairs])
        has_left = bool(local) and all(pair.values("spec", "stopPolicy")[0] == HOLD for pair in local)
        if has_left == after_leaving:
            outcomes = dict.fromkeys(outcome_without_queue(change, pair.manifest.namespace) for pair in local)
            predicts = tuple(
                Prediction(f"workloads of queue {name}", outcome)
                for outcome in outcomes
                if outcome == "refused" or not has_left
            )
            details = tuple(_details(change, pairs, has_left))
            yield Raised(f"queue {name}", _message(change, pairs), pairs[0].before, (), details, predicts)


def _message(change: Change, pairs: list[Pair]) -> str:
    nodes = tree(change.before)
    quotas = [
        f"{quota_text(change.before, nodes[pair.name], flavor)} on {flavor_text(change, flavor)}"
        for pair in pairs
        for flavor in flavors(pair, after=False)
    ]
    return f"is removed with its quota: {'; '.join(quotas)}"


def _details(change: Change, pairs: list[Pair], has_left: bool) -> Iterator[str]:
    """Yields what happens to the workloads, the ClusterQueues and the other queues of the cohort."""
    waiting = "" if has_left else "; workloads that wait stay suspended until they get another queue"
    yield f"workloads that run continue{waiting}"
    yield from _deletion(change, pairs)
    yield from loses(change, quota_changes(change))
    names = [pair.name for pair in pairs]
    if users := [use.manifest for use in uses(change) if use.cluster_queue in names]:
        yield f"objects of --workloads in the queue: {named(users)}"


def _local_queues(change: Change, cluster_queues: list[str]) -> list[Pair]:
    """Returns the removed LocalQueues of ClusterQueues."""
    return [
        pair
        for pair in change.pairs(GROUP, "LocalQueue")
        if pair.is_removed and pair.values("spec", "clusterQueue")[0] in cluster_queues
    ]


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
