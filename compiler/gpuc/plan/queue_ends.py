"""Queues that stop, or that Git does not contain any more, and what happens to their workloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.cluster.queue import cluster_queue, parent
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.selector import matches
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import selector
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_usage import users_text, uses
from gpuc.plan.quota_changes import loses, queue_name, queues, quota_changes, quotas_text

NONE, HOLD, DRAIN = "None", "Hold", "HoldAndDrain"


def removed_queues(change: Change, *, after_leaving: bool) -> Iterator[Raised]:
    """Yields an impact for each queue that is removed.

    Args:
        after_leaving: whether the queue had left: whether its LocalQueues admitted no workloads before the change.
    """
    for name, pairs in queues(change).items():
        if not all(pair.is_removed for pair in pairs):
            continue
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
            message = f"is removed with its quota: {quotas_text(change, pairs, after=False)}"
            yield Raised(f"queue {name}", message, pairs[0].before, (), details, predicts)


def _details(change: Change, pairs: list[Pair], has_left: bool) -> Iterator[str]:
    """Yields what happens to the workloads, the ClusterQueues and the other queues of the cohort."""
    waiting = "" if has_left else "; workloads that wait stay suspended until they get another queue"
    yield f"workloads that run continue{waiting}"
    yield _deletion(change, pairs)
    yield from loses(quota_changes(change))
    names = [pair.name for pair in pairs]
    yield from users_text("in the queue", [use.manifest for use in uses(change) if use.cluster_queue in names])


def _local_queues(change: Change, cluster_queues: list[str]) -> list[Pair]:
    """Returns the removed LocalQueues of ClusterQueues."""
    return [
        pair
        for pair in change.pairs(GROUP, "LocalQueue")
        if pair.is_removed and pair.values("spec", "clusterQueue")[0] in cluster_queues
    ]


def _deletion(change: Change, pairs: list[Pair]) -> str:
    """Returns what happens with the ClusterQueues."""
    left = [pair.manifest for pair in pairs if is_left(change, pair.manifest)]
    if not left:
        return "Argo CD deletes the ClusterQueue; Kueue keeps it until the last running workload has ended"
    names = " ".join(manifest.name for manifest in left)
    cohort = parent(left[0])[1]
    lent = f", and cohort {cohort} can still borrow its quota" if cohort else ""
    return (
        f"Argo CD leaves the ClusterQueue in the cluster{lent}; delete it with kubectl delete clusterqueue {names}; "
        "Kueue then keeps it until the last running workload has ended"
    )


def outcome_without_queue(change: Change, namespace: str) -> str:
    """Returns "refused" if the policy queue-required denies such workloads in a namespace after the change.

    Otherwise Kueue creates a Workload that it never admits, and the result is "waiting".
    """
    labels = change.after.objects.namespaces.get(namespace) or change.before.objects.namespaces.get(namespace, {})
    for constraint in change.after.objects.of(CONSTRAINTS, "GpucQueueRequired"):
        is_selected = matches(selector(dig(constraint.body, "spec", "match", "namespaceSelector") or {}), labels)
        if is_selected and dig(constraint.body, "spec", "enforcementAction") == "deny":
            return "refused"
    return "waiting"


class Stop(NamedTuple):
    """Queues that get another stopPolicy for the same reason."""

    subject: str
    """The queue, tenant or namespace that leaves; without a spec, the queue."""
    pairs: tuple[Pair, ...]
    """The LocalQueues and ClusterQueues."""
    is_complete: bool
    """Whether all LocalQueues of the queue are among them."""

    def predictions(self, outcome: str) -> tuple[Prediction, ...]:
        """Returns that the queues are inactive, and the outcome for the workloads of the queues."""
        names = dict.fromkeys(queue_name(pair) for pair in self.pairs)
        inactive = tuple(Prediction(f"queue {name}", "inactive") for name in names)
        kind, _, name = self.subject.partition(" ")
        if kind == "queue" and self.is_complete:
            return (Prediction(f"workloads of queue {name}", outcome), *inactive)
        namespaces = sorted({pair.manifest.namespace for pair in self.pairs})
        workloads = (Prediction(f"workloads of namespace {namespace}", outcome) for namespace in namespaces)
        return (*workloads, *inactive)


def stop_changes(change: Change, before: frozenset[str], after: frozenset[str]) -> Iterator[Stop]:
    """Yields the queues whose stopPolicy changes from one of some values to one of other values.

    Source: kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, localqueue_types.go, StopPolicy
    """
    kept = [pair for kind in ("ClusterQueue", "LocalQueue") for pair in change.kept(GROUP, kind)]
    stopped = [pair for pair in kept if _policy(pair, 0) in before and _policy(pair, 1) in after]
    for subject, pairs in grouped(stopped, lambda pair: _subject(change, pair)).items():
        names = {str(pair.values("spec", "clusterQueue")[1]) for pair in pairs}
        others = [local for local in change.pairs(GROUP, "LocalQueue") if local.after and local not in pairs]
        is_complete = not any(local.values("spec", "clusterQueue")[1] in names for local in others)
        yield Stop(subject, tuple(pairs), is_complete or any(pair.manifest.kind == "ClusterQueue" for pair in pairs))


def _policy(pair: Pair, state: int) -> str:
    return str(pair.values("spec", "stopPolicy")[state] or NONE)


def _subject(change: Change, pair: Pair) -> str:
    """Returns the element that is leaving, of the state after or before; without such an element the queue."""
    clusters = (state.cluster for state in (change.after, change.before))
    for tenant, namespace in (row for cluster in clusters for row in (cluster.namespaces if cluster else ())):
        if namespace.name != pair.manifest.namespace:
            continue
        name = cluster_queue(pair.manifest)
        own = [queue for queue in namespace.queues if name in [row.name for row in queue.cluster_queues]]
        if any(queue.spec.leaving for queue in own):
            return f"queue {own[0].name}"
        if tenant.spec.leaving:
            return f"tenant {tenant.name}"
        if namespace.spec.leaving:
            return f"namespace {namespace.name}"
    return f"queue {queue_name(pair)}"
