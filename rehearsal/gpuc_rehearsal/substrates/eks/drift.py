"""How Karpenter replaces nodes after a change: drift, the decisions about drifted nodes, and what happens to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.manifest.manifest import Manifest
from gpuc.trace.steps import Component
from gpuc_rehearsal.client import Client, Object, condition, is_true
from gpuc_rehearsal.context import EVENT, NODE
from gpuc_rehearsal.process import poll
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM, EC2_NODE_CLASS, POOL
from gpuc_rehearsal.transition.result import NodeOutcome
from gpuc_rehearsal.transition.snapshot import Snapshot, is_deleting, pool_of, take_snapshot

NAME: Component = "Karpenter"
BLOCKED = "DisruptionBlocked"
"""The reason of Karpenter's events about a node that a budget or a pod keeps.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/events/reason.go
"""
_DRIFTED = "Drifted"
_OF_STARTS = ("isn't initialized", "is nominated for a pending pod")
"""The ends of messages about nodes for whose pods Karpenter waits some seconds.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/state/statenode.go (ValidateNodeDisruptable)
"""
DISRUPTION_SECONDS = 12
"""Maximum wait for Karpenter's decision about a drifted node. Karpenter looks for such nodes every 10 seconds.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/disruption/controller.go (pollingPeriod)
"""
_POLL_SECONDS = 0.6
_HASH = "karpenter.sh/nodepool-hash"


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
        drift = condition(last, _DRIFTED)
        reason = str(drift.get("reason", "")) if drift.get("status") == "True" else ""
        current = after.find("NodeClaim", name)
        if current is None or is_deleting(current):
            outcome = "drained" if added[pool] > 0 else "removed"
            added[pool] -= 1
            yield NodeOutcome(node, pool, outcome, NAME, reason or "the NodeClaim was deleted")
        elif reason:
            why = "; ".join(filter(None, (reason, blocked_by(after, current))))
            yield NodeOutcome(node, pool, "waiting", NAME, why)
        else:
            yield NodeOutcome(node, pool, "kept")


def blocked_by(snapshot: Snapshot, claim: Object) -> str:
    """Returns the last message of Karpenter about what keeps a drifted node; an empty string without a message.

    Messages from before the drift, and about the start of a node, have other reasons. If a budget allows no
    replacement, the message is about the NodePool.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/disruption/events/events.go (Blocked,
    NodePoolBlockedForDisruptionReason)
    """
    node = snapshot.find("Node", str(claim.get("status", {}).get("nodeName", "")))
    since = str(condition(claim, _DRIFTED).get("lastTransitionTime", ""))
    found = (snapshot.events_of(document, BLOCKED, since=since) for document in filter(None, (claim, node)))
    messages = [message for message in chain.from_iterable(found) if not message.lower().endswith(_OF_STARTS)]
    if not messages and (pool := snapshot.find("NodePool", claim["metadata"].get("labels", {}).get(NODE_POOL, ""))):
        messages = [message for message in snapshot.events_of(pool, BLOCKED) if _DRIFTED in message]
    return messages[-1] if messages else ""


def is_stale(client: Client, snapshot: Snapshot) -> bool:
    """Returns whether a NodePool has another hash than one of its NodeClaims without the condition Drifted.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go (areStaticFieldsDrifted)
    """
    if not snapshot.of("NodeClaim"):
        return False
    pools = (pool["metadata"] for pool in client.list_all(*POOL))
    hashes = {metadata["name"]: metadata.get("annotations", {}).get(_HASH) for metadata in pools}
    for claim in snapshot.of("NodeClaim"):
        metadata = claim["metadata"]
        wanted = hashes.get(metadata.get("labels", {}).get(NODE_POOL, ""))
        actual = metadata.get("annotations", {}).get(_HASH)
        is_changed = bool(wanted and actual and wanted != actual)
        if is_changed and not condition(claim, _DRIFTED) and not is_deleting(claim):
            return True
    return False


def drifted(snapshot: Snapshot) -> set[str]:
    """Returns the names of the NodeClaims that have drifted."""
    return {claim["metadata"]["name"] for claim in snapshot.of("NodeClaim") if is_true(claim, _DRIFTED)}


def await_decisions(client: Client, before: Snapshot) -> bool:
    """Waits until Karpenter replaces a node of each pool with drifted nodes, or says what keeps one of them.

    Returns whether the drifted nodes have these decisions. Nodes that had drifted before do not count.
    """
    return poll(lambda: _is_decided(client, before), DISRUPTION_SECONDS, _POLL_SECONDS)


def _is_decided(client: Client, before: Snapshot) -> bool:
    """Returns whether Karpenter has decided about the newly drifted nodes of each NodePool."""
    snapshot = take_snapshot(client, (CLAIM, POOL, NODE, EVENT))
    claims, names = snapshot.of("NodeClaim"), drifted(snapshot) - drifted(before)
    busy = {pool_of(claim) for claim in claims if is_deleting(claim)}
    waiting = [claim for claim in claims if claim["metadata"]["name"] in names and pool_of(claim) not in busy]
    decided = {pool_of(claim) for claim in waiting if blocked_by(snapshot, claim)}
    return all(pool_of(claim) in decided for claim in waiting)


def notes(changed: Sequence[Manifest]) -> Iterator[str]:
    """Yields sentences about what a transition does not show about nodes."""
    yield "EC2NodeClasses are applied, but no controller reads them: the drift that they cause is not simulated."
    classes = {manifest.name for manifest in changed if manifest.kind == EC2_NODE_CLASS[1]}
    if names := ", ".join(sorted(classes)):
        yield f"The change contains EC2NodeClasses: {names}."
    yield (
        "Karpenter replaces drifted nodes within the disruption budgets, which can depend on the time of day. "
        "A drifted node that still runs at the end of the observation is reported as waiting."
    )
