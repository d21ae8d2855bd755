"""Computes the outcome of each node, workload and queue from the objects before and after a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.rehearse.client import Object, condition
from gpuc.rehearse.transition.filling import Filling
from gpuc.rehearse.transition.result import NodeOutcome, QueueOutcome, WorkloadOutcome
from gpuc.rehearse.transition.snapshot import Snapshot, is_deleting, pool_of
from gpuc.rehearse.transition.start import is_running, why_not_running

BLOCKED = "DisruptionBlocked"
"""The reason of Karpenter's events about a node that a budget or a pod keeps.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/events/reason.go
"""
_ACTIVE = "Active"
_DRIFTED = "Drifted"
_OF_STARTS = ("isn't initialized", "is nominated for a pending pod")
"""The ends of messages about nodes for whose pods Karpenter waits some seconds.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/state/statenode.go (ValidateNodeDisruptable)
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The answer to the same workload created anew after the change."""

    outcome: str
    """kept, refused or waiting."""
    by: str = ""
    message: str = ""


def node_outcomes(
    before: Snapshot, seen: Mapping[str, Object], after: Snapshot, always_running: Collection[str]
) -> Iterator[NodeOutcome]:
    """Yields the outcome of each NodeClaim that existed before and had work.

    Args:
        seen: the last state of each NodeClaim during the observation, by name.
        always_running: the pools with nodes that run without work.
    """
    known = {claim["metadata"]["name"] for claim in before.of("NodeClaim")}
    added = Counter(pool_of(claim) for claim in after.of("NodeClaim") if claim["metadata"]["name"] not in known)
    busy = {pod["spec"].get("nodeName") for pod in before.of("Pod")}
    for claim in before.of("NodeClaim"):
        is_idle = claim.get("status", {}).get("nodeName") not in busy and pool_of(claim) not in always_running
        if is_idle or is_deleting(claim):
            continue
        name, pool = claim["metadata"]["name"], pool_of(claim)
        node = str(claim.get("status", {}).get("nodeName", "")) or name
        last = seen.get(name, claim)
        drifted = condition(last, _DRIFTED)
        reason = str(drifted.get("reason", "")) if drifted.get("status") == "True" else ""
        current = after.find("NodeClaim", name)
        if current is None or is_deleting(current):
            outcome = "drained" if added[pool] > 0 else "removed"
            added[pool] -= 1
            yield NodeOutcome(node, pool, outcome, "Karpenter", reason or "the NodeClaim was deleted")
        elif reason:
            yield NodeOutcome(node, pool, "waiting", "Karpenter", _waiting(after, current, reason))
        else:
            yield NodeOutcome(node, pool, "kept")


def _waiting(after: Snapshot, claim: Object, reason: str) -> str:
    """Returns why a node has drifted, and what keeps the node."""
    blocked = blocked_by(after, claim)
    return f"{reason}; {blocked}" if blocked else reason


def blocked_by(snapshot: Snapshot, claim: Object) -> str:
    """Returns the last message of Karpenter about what keeps a drifted node; an empty string without a message.

    Messages from before the drift, and about the start of a node, have other reasons. If a budget allows no
    replacement, the message is about the NodePool.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/disruption/events/events.go (Blocked,
    NodePoolBlockedForDisruptionReason)
    """
    node = snapshot.find("Node", str(claim.get("status", {}).get("nodeName", "")))
    since = str(condition(claim, _DRIFTED).get("lastTransitionTime", ""))
    messages = [
        message
        for one in (claim, node)
        if one
        for message in snapshot.events_of(one, BLOCKED, since=since)
        if not message.lower().endswith(_OF_STARTS)
    ]
    if not messages and (pool := snapshot.find("NodePool", claim["metadata"].get("labels", {}).get(NODE_POOL, ""))):
        messages = [message for message in snapshot.events_of(pool, BLOCKED) if _DRIFTED in message]
    return messages[-1] if messages else ""


def workload_outcomes(
    work: list[Filling], before: Snapshot, after: Snapshot, attempts: Mapping[str, Attempt]
) -> Iterator[WorkloadOutcome]:
    """Yields the outcome of each workload that ran before.

    Args:
        attempts: the answers to the same workloads created anew, by the text of the workload.
    """
    for filling in work:
        owner = before.find(filling.kind, filling.name, filling.namespace)
        if owner is None or why_not_running(before, filling):
            continue
        found = _disturbance(filling, owner, before, after)
        if found.outcome == "kept":
            found = attempts.get(str(filling), found)
        yield WorkloadOutcome(
            filling.namespace, filling.kind, filling.name, filling.queue, filling.pool,
            found.outcome, found.by, " ".join(found.message.split()),
        )  # fmt: skip


def _disturbance(filling: Filling, owner: Object, before: Snapshot, after: Snapshot) -> Attempt:
    """Returns what happened to a running workload; kept if nothing happened."""
    current = after.find(filling.kind, filling.name, filling.namespace)
    if current is None or is_deleting(current):
        return Attempt("evicted", "Kubernetes", f"{filling} was deleted")
    lost = _lost_pods(before, after, owner)
    workload = after.workload_of(current)
    if eviction := _eviction(before.workload_of(owner), workload):
        is_admitted = workload is not None and condition(workload, "Admitted").get("status") == "True"
        return Attempt("requeued" if is_admitted else "evicted", "Kueue", eviction)
    if lost:
        return Attempt("drained", "Karpenter", f"{len(lost)} pods were deleted: {', '.join(sorted(lost))}")
    return Attempt("kept")


def _lost_pods(before: Snapshot, after: Snapshot, owner: Object) -> set[str]:
    """Returns the names of the pods that ran before and do not run any more."""
    running = {pod["metadata"]["uid"] for pod in after.of("Pod") if is_running(pod)}
    pods = [pod for pod in before.pods_of(owner) if is_running(pod)]
    return {pod["metadata"]["name"] for pod in pods if pod["metadata"]["uid"] not in running}


def _eviction(before: Object | None, after: Object | None) -> str:
    """Returns why Kueue evicted a Workload between two states; an empty string if Kueue did not evict it."""
    if before is None:
        return ""
    if after is None:
        return "the Workload was deleted"
    evicted, earlier = condition(after, "Evicted"), condition(before, "Evicted")
    if evicted and evicted.get("lastTransitionTime") != earlier.get("lastTransitionTime"):
        return f"{evicted.get('reason', '')}: {evicted.get('message', '')}"
    if condition(after, "Admitted").get("status") == "True":
        return ""
    reserved = condition(after, "QuotaReserved")
    return f"{reserved.get('reason', '')}: {reserved.get('message', '')}"


def queue_outcomes(before: Snapshot, after: Snapshot) -> Iterator[QueueOutcome]:
    """Yields the state of each queue that exists before or after the change."""
    for kind in ("ClusterQueue", "LocalQueue"):
        keys = {_key(queue): queue for queue in (*before.of(kind), *after.of(kind))}
        for namespace, name in sorted(keys):
            current = after.find(kind, name, namespace)
            count = _unfinished(after, kind, namespace, name)
            if current is None or is_deleting(current):
                message = "is deleted when its Workloads have finished" if current else ""
                yield QueueOutcome(kind, namespace, name, "gone", message, count)
                continue
            active = condition(current, _ACTIVE)
            is_active = active.get("status") == "True"
            message = "" if is_active else f"{active.get('reason', '')}: {active.get('message', '')}"
            yield QueueOutcome(kind, namespace, name, "active" if is_active else "inactive", message, count)


def _key(queue: Object) -> tuple[str, str]:
    return queue["metadata"].get("namespace", ""), queue["metadata"]["name"]


def _unfinished(after: Snapshot, kind: str, namespace: str, name: str) -> int:
    """Returns the number of unfinished Workloads that use a queue."""
    count = 0
    for workload in after.of("Workload"):
        if condition(workload, "Finished").get("status") == "True":
            continue
        if kind == "LocalQueue":
            is_in = workload["metadata"]["namespace"] == namespace and workload["spec"].get("queueName") == name
        else:
            is_in = workload.get("status", {}).get("admission", {}).get("clusterQueue") == name
        count += is_in
    return count
