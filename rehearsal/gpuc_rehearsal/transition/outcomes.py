"""Waits until the controllers have acted on a change, and finds out what happened to nodes, workloads and queues."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from gpuc_rehearsal.autoscaler import autoscalers
from gpuc_rehearsal.client import Client, Object, condition, is_true, reason_text
from gpuc_rehearsal.context import CLUSTER_QUEUE, LOCAL_QUEUE, POD, WORKLOAD
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

QUIET_SECONDS = 2.5
"""The observed objects must stay the same for this time."""
SLOWNESS = 10
"""Seconds that are added to the quiet time for each second that the API server needs to list the objects.

On a machine that other programs use, the controllers are as slow as the API server.
"""
SETTLE_SECONDS = 60
"""Maximum wait."""
_POLL_SECONDS = 0.6
_OBSERVED = (POD, WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE)


class Attempt(NamedTuple):
    """What happened when `gpuc rehearse --from` created a workload again after the change."""

    outcome: str
    """kept, refused or waiting."""
    by: str = ""
    message: str = ""


def node_outcomes(
    before: Snapshot, seen: Mapping[str, Object], after: Snapshot, always_running: Collection[str]
) -> Iterator[NodeOutcome]:
    """Yields what happened to each node that had work before the change. Without an autoscaler, all nodes are kept.

    Args:
        seen: the last state of each claim (the autoscaler's object for a node) during the observation, by name.
        always_running: the pools whose nodes count also without work.
    """
    if before.autoscaler:
        return before.autoscaler.drift.outcomes(before, seen, after, always_running)
    return (NodeOutcome(node["metadata"]["name"], pool_of(node), "kept") for node in before.of("Node"))


def drifted(snapshot: Snapshot) -> set[str]:
    """Returns the names of claims (objects of an autoscaler for nodes) whose nodes the autoscaler wants to replace."""
    return snapshot.autoscaler.drift.drifted(snapshot) if snapshot.autoscaler else set()


def workload_outcomes(
    work: list[Filling], before: Snapshot, after: Snapshot, attempts: Mapping[str, Attempt]
) -> Iterator[WorkloadOutcome]:
    """Yields what happened to each workload that ran before the change.

    attempts: what happened when a workload was created again, by "Kind namespace/name".
    """
    for filling in work:
        owner = before.live(filling)
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
    current = after.live(filling)
    if current is None or is_deleting(current):
        return Attempt("evicted", "Kubernetes", f"{filling} was deleted")
    workload = after.workload_of(current)
    if eviction := _eviction(before.workload_of(owner), workload):
        is_admitted = workload is not None and is_true(workload, "Admitted")
        return Attempt("requeued" if is_admitted else "evicted", "Kueue", eviction)
    running = {pod["metadata"]["uid"] for pod in after.of("Pod") if is_running(pod)}
    pods = (pod["metadata"] for pod in before.pods_of(owner) if is_running(pod))
    if lost := sorted({metadata["name"] for metadata in pods if metadata["uid"] not in running}):
        by = before.autoscaler.name if before.autoscaler else "Kubernetes"
        return Attempt("drained", by, f"{len(lost)} pods were deleted: {', '.join(lost)}")
    return Attempt("kept")


def _eviction(before: Object | None, after: Object | None) -> str:
    """Returns why Kueue evicted a Workload between two states; an empty string if Kueue did not evict it."""
    if before is None:
        return ""
    if after is None:
        return "the Workload was deleted"
    evicted, earlier = condition(after, "Evicted"), condition(before, "Evicted")
    if evicted and evicted.get("lastTransitionTime") != earlier.get("lastTransitionTime"):
        return reason_text(evicted)
    return "" if is_true(after, "Admitted") else reason_text(condition(after, "QuotaReserved"))


def queue_outcomes(before: Snapshot, after: Snapshot) -> Iterator[QueueOutcome]:
    """Yields whether each ClusterQueue and LocalQueue from before or after the change is active, inactive or gone."""
    for kind in ("ClusterQueue", "LocalQueue"):
        queues = (queue["metadata"] for queue in (*before.of(kind), *after.of(kind)))
        for namespace, name in sorted({(metadata.get("namespace", ""), metadata["name"]) for metadata in queues}):
            current = after.find(kind, name, namespace)
            outcome, message = "active", ""
            if current is None or is_deleting(current):
                outcome, message = "gone", "is deleted when its Workloads have finished" if current else ""
            elif not is_true(current, "Active"):
                outcome, message = "inactive", reason_text(condition(current, "Active"))
            yield QueueOutcome(kind, namespace, name, outcome, message, _unfinished(after, kind, namespace, name))


def _unfinished(after: Snapshot, kind: str, namespace: str, name: str) -> int:
    """Returns the number of unfinished Workloads that use a queue."""
    workloads = [workload for workload in after.of("Workload") if not is_true(workload, "Finished")]
    if kind == "LocalQueue":
        wanted = namespace, name
        return sum((row["metadata"]["namespace"], row["spec"].get("queueName")) == wanted for row in workloads)
    return sum(row.get("status", {}).get("admission", {}).get("clusterQueue") == name for row in workloads)


def settle(
    client: Client, quiet_s: float = QUIET_SECONDS, is_expected: Callable[[Snapshot], bool] = lambda snapshot: True
) -> dict[str, Object]:
    """Waits until objects no longer change, and returns the last state of each claim by name.

    A claim is the autoscaler's object for a node. The last state of a deleted claim shows why its node was replaced.

    Args:
        quiet_s: the seconds for which the objects must not change.
        is_expected: returns whether the controllers can have finished with these objects.
    """
    seen: dict[str, Object] = {}
    deadline = time.monotonic() + SETTLE_SECONDS
    changed_at, last = time.monotonic(), None
    while time.monotonic() < deadline:
        started = time.monotonic()
        snapshot = take_snapshot(client, (*(autoscaler.claim for autoscaler in autoscalers()), *_OBSERVED))
        needed_s = quiet_s + SLOWNESS * (time.monotonic() - started)
        autoscaler = snapshot.autoscaler
        claims = snapshot.of(autoscaler.claim[1]) if autoscaler else ()
        seen |= {claim["metadata"]["name"]: claim for claim in claims}
        digest = list(_digest(snapshot))
        is_quiet = time.monotonic() - changed_at >= needed_s
        if digest != last:
            changed_at, last = time.monotonic(), digest
        elif is_quiet and is_expected(snapshot) and not (autoscaler and autoscaler.drift.is_stale(client, snapshot)):
            break
        time.sleep(_POLL_SECONDS)
    return seen


def _digest(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    """Yields the facts on which outcomes depend: which objects exist, their deletion, and their conditions."""
    for kind, documents in sorted(snapshot.objects.items()):
        for document in documents:
            metadata, status = document["metadata"], document.get("status", {})
            rows = status.get("conditions") or ()
            conditions = tuple((row["type"], row["status"], row.get("reason", "")) for row in rows)
            yield kind, metadata["uid"], metadata.get("deletionTimestamp", ""), status.get("phase", ""), conditions
