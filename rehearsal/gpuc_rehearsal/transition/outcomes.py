"""Waits until the controllers have acted on a change, and computes the outcome of each node, workload and queue."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc_rehearsal.client import Client, Object, condition, is_true, reason_text
from gpuc_rehearsal.context import (
    CLAIM,
    CLUSTER_QUEUE,
    EVENT,
    KARPENTER_POOL,
    LOCAL_QUEUE,
    NODE,
    POD,
    WORKLOAD,
)
from gpuc_rehearsal.transition.filling import Filling
from gpuc_rehearsal.transition.result import NodeOutcome, QueueOutcome, WorkloadOutcome
from gpuc_rehearsal.transition.snapshot import (
    Snapshot,
    is_deleting,
    is_running,
    pool_of,
    take_snapshot,
    why_not_running,
)

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
DISRUPTION_SECONDS = 12
"""Maximum wait for Karpenter's decision about a drifted node. Karpenter looks for such nodes every 10 seconds.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/disruption/controller.go (pollingPeriod)
"""
QUIET_SECONDS = 2.5
"""The observed objects must stay the same for this time."""
SLOWNESS = 10
"""Seconds that are added to the quiet time for each second that the API server needs to list the objects.

On a machine that other programs use, the controllers are as slow as the API server.
"""
SETTLE_SECONDS = 60
"""Maximum wait."""
_POLL_SECONDS = 0.6
_DECIDED = (CLAIM, KARPENTER_POOL, NODE, EVENT)
_OBSERVED = (CLAIM, POD, WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE)
_HASH = "karpenter.sh/nodepool-hash"


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
    """Yields the outcome of each NodeClaim that existed before and had work. Without a provider, all nodes stay.

    Args:
        seen: the last state of each NodeClaim during the observation, by name.
        always_running: the pools with nodes that run without work.
    """
    known = {claim["metadata"]["name"] for claim in before.of("NodeClaim")}
    added = Counter(pool_of(claim) for claim in after.of("NodeClaim") if claim["metadata"]["name"] not in known)
    if not before.has_provider:
        yield from (NodeOutcome(node["metadata"]["name"], pool_of(node), "kept") for node in before.of("Node"))
    busy = {pod["spec"].get("nodeName") for pod in before.of("Pod")}
    for claim in before.of("NodeClaim"):
        is_idle = claim.get("status", {}).get("nodeName") not in busy and pool_of(claim) not in always_running
        if is_idle or is_deleting(claim):
            continue
        name, pool = claim["metadata"]["name"], pool_of(claim)
        node = str(claim.get("status", {}).get("nodeName", "")) or name
        last = seen.get(name, claim)
        drift = condition(last, _DRIFTED)
        reason = str(drift.get("reason", "")) if drift.get("status") == "True" else ""
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
        for document in filter(None, (claim, node))
        for message in snapshot.events_of(document, BLOCKED, since=since)
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
        is_admitted = workload is not None and is_true(workload, "Admitted")
        return Attempt("requeued" if is_admitted else "evicted", "Kueue", eviction)
    if lost:
        by = "Karpenter" if before.has_provider else "Kubernetes"
        return Attempt("drained", by, f"{len(lost)} pods were deleted: {', '.join(sorted(lost))}")
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
        return reason_text(evicted)
    if is_true(after, "Admitted"):
        return ""
    return reason_text(condition(after, "QuotaReserved"))


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
            is_active = is_true(current, _ACTIVE)
            message = "" if is_active else reason_text(condition(current, _ACTIVE))
            yield QueueOutcome(kind, namespace, name, "active" if is_active else "inactive", message, count)


def _key(queue: Object) -> tuple[str, str]:
    return queue["metadata"].get("namespace", ""), queue["metadata"]["name"]


def _unfinished(after: Snapshot, kind: str, namespace: str, name: str) -> int:
    """Returns the number of unfinished Workloads that use a queue."""
    count = 0
    for workload in after.of("Workload"):
        if is_true(workload, "Finished"):
            continue
        if kind == "LocalQueue":
            is_in = workload["metadata"]["namespace"] == namespace and workload["spec"].get("queueName") == name
        else:
            is_in = workload.get("status", {}).get("admission", {}).get("clusterQueue") == name
        count += is_in
    return count


def settle(
    client: Client,
    quiet_s: float = QUIET_SECONDS,
    is_expected: Callable[[Snapshot], bool] = lambda snapshot: True,
    timeout_s: float = SETTLE_SECONDS,
) -> dict[str, Object]:
    """Waits until the controllers have acted, and returns the last state of each NodeClaim by name.

    The condition Drifted appears before Karpenter replaces a node, so the last state of a deleted NodeClaim has it.

    Args:
        quiet_s: seconds for which the observed objects must stay the same.
        is_expected: returns whether the observed objects can be the last state.
    """
    seen: dict[str, Object] = {}
    deadline = time.monotonic() + timeout_s
    changed_at, last = time.monotonic(), None
    while time.monotonic() < deadline:
        started = time.monotonic()
        snapshot = take_snapshot(client, _OBSERVED)
        needed_s = quiet_s + SLOWNESS * (time.monotonic() - started)
        seen |= {claim["metadata"]["name"]: claim for claim in snapshot.of("NodeClaim")}
        digest = list(_digest(snapshot))
        if digest != last:
            changed_at, last = time.monotonic(), digest
        elif time.monotonic() - changed_at >= needed_s and is_expected(snapshot) and not _is_stale(client, snapshot):
            break
        time.sleep(_POLL_SECONDS)
    return seen


def _digest(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    """Yields what decides about outcomes: existence, deletion and conditions."""
    for kind, documents in sorted(snapshot.objects.items()):
        for document in documents:
            metadata, status = document["metadata"], document.get("status", {})
            conditions = tuple(
                (row["type"], row["status"], row.get("reason", "")) for row in status.get("conditions") or ()
            )
            yield kind, metadata["uid"], metadata.get("deletionTimestamp", ""), status.get("phase", ""), conditions


def _is_stale(client: Client, snapshot: Snapshot) -> bool:
    """Returns whether a NodePool has another hash than one of its NodeClaims without the condition Drifted.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go (areStaticFieldsDrifted)
    """
    if not snapshot.of("NodeClaim"):
        return False
    pools = (pool["metadata"] for pool in client.list_all(*KARPENTER_POOL))
    hashes = {metadata["name"]: metadata.get("annotations", {}).get(_HASH) for metadata in pools}
    for claim in snapshot.of("NodeClaim"):
        metadata = claim["metadata"]
        wanted = hashes.get(metadata.get("labels", {}).get(NODE_POOL, ""))
        actual = metadata.get("annotations", {}).get(_HASH)
        is_changed = bool(wanted and actual and wanted != actual)
        if is_changed and not condition(claim, "Drifted") and not is_deleting(claim):
            return True
    return False


def drifted(snapshot: Snapshot) -> set[str]:
    """Returns the names of the NodeClaims that have drifted."""
    return {claim["metadata"]["name"] for claim in snapshot.of("NodeClaim") if is_true(claim, "Drifted")}


def await_decisions(client: Client, before: Snapshot) -> bool:
    """Waits until Karpenter replaces a node of each pool with drifted nodes, or says what keeps one of them.

    Returns whether the drifted nodes have these decisions. Nodes that had drifted before do not count.
    """
    deadline = time.monotonic() + DISRUPTION_SECONDS
    while True:
        snapshot = take_snapshot(client, _DECIDED)
        if not _undecided(snapshot, drifted(snapshot) - drifted(before)):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)


def _undecided(snapshot: Snapshot, names: set[str]) -> bool:
    """Returns whether Karpenter has not decided yet about the drifted nodes of a NodePool."""
    claims = snapshot.of("NodeClaim")
    busy = {pool_of(claim) for claim in claims if is_deleting(claim)}
    waiting = [claim for claim in claims if claim["metadata"]["name"] in names and pool_of(claim) not in busy]
    decided = {pool_of(claim) for claim in waiting if blocked_by(snapshot, claim)}
    return any(pool_of(claim) not in decided for claim in waiting)
