"""Waits until the controllers have acted on a change: until the observed objects stay the same for some seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from gpuc.rehearse.client import Client, Object, condition_is_true
from gpuc.rehearse.transition.outcomes import blocked_by
from gpuc.rehearse.transition.snapshot import (
    CLAIM,
    CLUSTER_QUEUE,
    EVENT,
    LOCAL_QUEUE,
    NODE,
    POD,
    POOL,
    WORKLOAD,
    Snapshot,
    is_deleting,
    pool_of,
    take_snapshot,
)

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
_DECIDED = (CLAIM, POOL, NODE, EVENT)
_OBSERVED = (CLAIM, POD, WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE)
_HASH = "karpenter.sh/nodepool-hash"


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
    pools = client.list_all("karpenter.sh/v1", "NodePool")
    hashes = {pool["metadata"]["name"]: pool["metadata"].get("annotations", {}).get(_HASH) for pool in pools}
    for claim in snapshot.of("NodeClaim"):
        metadata = claim["metadata"]
        wanted = hashes.get(metadata.get("labels", {}).get("karpenter.sh/nodepool", ""))
        actual = metadata.get("annotations", {}).get(_HASH)
        conditions = {row["type"] for row in claim.get("status", {}).get("conditions") or ()}
        if (
            wanted
            and actual
            and wanted != actual
            and "Drifted" not in conditions
            and not metadata.get("deletionTimestamp")
        ):
            return True
    return False


def drifted(snapshot: Snapshot) -> set[str]:
    """Returns the names of the NodeClaims that have drifted."""
    is_drifted = condition_is_true("Drifted")
    return {claim["metadata"]["name"] for claim in snapshot.of("NodeClaim") if is_drifted(claim)}


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
