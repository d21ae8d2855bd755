"""Queues, tenants and namespaces whose LocalQueues or ClusterQueues get another stopPolicy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.kubernetes.kueue import GROUP
from gpuc.model import Cluster
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction
from gpuc.plan.quota_changes import queue_name

NONE, HOLD, DRAIN = "None", "Hold", "HoldAndDrain"


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
    groups: dict[str, list[Pair]] = {}
    for kind in ("ClusterQueue", "LocalQueue"):
        for pair in change.pairs(GROUP, kind):
            if pair.before and pair.after and _policy(pair, 0) in before and _policy(pair, 1) in after:
                subject = _subject(change.after.cluster, pair) or _subject(change.before.cluster, pair)
                groups.setdefault(subject or f"queue {queue_name(pair)}", []).append(pair)
    for subject, pairs in groups.items():
        names = {str(pair.values("spec", "clusterQueue")[1]) for pair in pairs}
        others = [one for one in change.pairs(GROUP, "LocalQueue") if one.after and one not in pairs]
        is_complete = not any(one.values("spec", "clusterQueue")[1] in names for one in others)
        yield Stop(subject, tuple(pairs), is_complete or any(pair.manifest.kind == "ClusterQueue" for pair in pairs))


def _policy(pair: Pair, state: int) -> str:
    return str(pair.values("spec", "stopPolicy")[state] or NONE)


def _subject(cluster: Cluster | None, pair: Pair) -> str:
    """Returns the element that is leaving; an empty string without such an element."""
    for tenant, namespace in cluster.namespaces if cluster else ():
        if namespace.name != pair.manifest.namespace:
            continue
        name = dig(pair.manifest.body, "spec", "clusterQueue")
        queues = [one for one in namespace.queues if name in [queue.name for queue in one.cluster_queues]]
        if any(queue.spec.leaving for queue in queues):
            return f"queue {queues[0].name}"
        if tenant.spec.leaving:
            return f"tenant {tenant.name}"
        if namespace.spec.leaving:
            return f"namespace {namespace.name}"
    return ""
