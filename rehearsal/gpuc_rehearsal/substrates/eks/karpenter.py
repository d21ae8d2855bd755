"""Runs Karpenter in a rehearsal with a simulated cloud provider, and observes how it replaces nodes after a change."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import chain
from pathlib import Path

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.trace.steps import Component
from gpuc_rehearsal.argocd.pods import PodRun
from gpuc_rehearsal.argocd.simulated_controllers import list_served, patch_present, ready
from gpuc_rehearsal.client import Client, Object, condition, is_true, new_object
from gpuc_rehearsal.context import EVENT, NODE
from gpuc_rehearsal.plane.site import Settings, Site
from gpuc_rehearsal.process import LOOPBACK, Process, poll
from gpuc_rehearsal.substrates.eks.instance_types import reserve_daemon_sets
from gpuc_rehearsal.transition.result import NodeOutcome
from gpuc_rehearsal.transition.snapshot import Snapshot, is_deleting, pool_of, take_snapshot

COMPONENT = "karpenter"
CLAIM = ("karpenter.sh/v1", "NodeClaim")
POOL = ("karpenter.sh/v1", "NodePool")
SIMULATED_GROUP = "karpenter.kwok.sh"
SIMULATED_CLASS = "KWOKNodeClass"
SIMULATED = (f"{SIMULATED_GROUP}/v1alpha1", SIMULATED_CLASS)
RESERVED_GATE = "ReservedCapacity"
EC2_NODE_CLASS = ("karpenter.k8s.aws/v1", "EC2NodeClass")
FINALIZER = "karpenter.k8s.aws/termination"
_NODE_CLASS = re.compile(r"(\n +nodeClassRef:\n +group: )karpenter\.k8s\.aws(\n +kind: )EC2NodeClass\n")
PROGRAM = "karpenter-kwok"
NAME: Component = "Karpenter"
BLOCKED = "DisruptionBlocked"
"""The reason of Karpenter's events about a node that Karpenter may not replace because of a budget or a pod.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/events/reason.go
"""
_DRIFTED = "Drifted"
_OF_STARTS = ("isn't initialized", "is nominated for a pending pod")
"""The ends of messages about nodes that have just started, for which Karpenter waits some seconds.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/state/statenode.go (ValidateNodeDisruptable)
"""
DISRUPTION_SECONDS = 12
"""Maximum wait for Karpenter's decision about a drifted node. Karpenter looks for such nodes every 10 seconds.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/disruption/controller.go (pollingPeriod)
"""
_POLL_SECONDS = 0.6
_HASH = "karpenter.sh/nodepool-hash"


def start(run: PodRun) -> Process:
    """Starts Karpenter with the simulated provider, for `gpuc rehearse --argocd`.

    The feature gates of the pod apply, unless the settings of the control plane have other values.
    """
    health = run.site.port()
    local = _environment(run.site, run.settings, run.folder, health)
    local["FEATURE_GATES"] = ",".join(filter(None, (run.variables.get("FEATURE_GATES"), local["FEATURE_GATES"])))
    return run.start(PROGRAM, [], local, health)


def start_program(site: Site, settings: Settings) -> Process:
    """Starts Karpenter with the instance types from the settings of the control plane. kwok simulates the nodes."""
    health = site.port()
    environment = _environment(site, settings, site.folder, health)
    return site.run(PROGRAM, [], f"http://{LOOPBACK}:{health}/readyz", environment)


def _environment(site: Site, settings: Settings, folder: Path, health: int) -> dict[str, str]:
    """Returns the environment of Karpenter, and writes the instance types to a folder. health is a port."""
    types = folder / "instance-types.json"
    types.write_text(json.dumps(list(settings.instance_types), indent=1) + "\n", encoding="utf-8")
    gates = ",".join(f"{name}={str(enabled).lower()}" for name, enabled in sorted(settings.feature_gates.items()))
    return {
        "KUBECONFIG": str(site.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": gates,
        # Karpenter waits until no new pods arrive, but test cases create pods continuously. So the wait is limited.
        "BATCH_MAX_DURATION": "2s",
        "INSTANCE_TYPES_FILE_PATH": str(types),
        "METRICS_PORT": str(site.port()),
        "HEALTH_PROBE_PORT": str(health),
    }


def gates(spec: CompiledSpec) -> dict[str, bool]:
    """Returns Karpenter's feature gates from the Helm values, but always without the gate for capacity reservations."""
    return {**_installed_gates(spec), RESERVED_GATE: False}


def unsupported_gate(spec: CompiledSpec) -> str:
    """Returns the feature gate for capacity reservations, which rehearsals lack, if the cluster enables it; else ""."""
    return RESERVED_GATE if _installed_gates(spec)[RESERVED_GATE] else ""


def _installed_gates(spec: CompiledSpec) -> dict[str, bool]:
    """Returns the feature gates of the Helm values by name. Karpenter's chart enables ReservedCapacity by default."""
    given = spec.values(COMPONENT)["settings"].get("featureGates", {})
    return {RESERVED_GATE: True} | {name[0].upper() + name[1:]: bool(enabled) for name, enabled in given.items()}


def simulated(manifest: Manifest) -> Object:
    """Returns a NodePool that refers to the node class of the simulated provider instead of an EC2NodeClass."""
    document = deepcopy(manifest.document())
    document["spec"]["template"]["spec"]["nodeClassRef"] |= {"group": SIMULATED_GROUP, "kind": SIMULATED_CLASS}
    return document


def simulated_text(text: str) -> str:
    """Returns the text of a YAML file in which NodePools refer to the node class of the simulated provider."""
    return _NODE_CLASS.sub(rf"\g<1>{SIMULATED_GROUP}\g<2>{SIMULATED_CLASS}\n", text)


def replacements(cluster: Cluster) -> list[Object]:
    """Returns a node class of the simulated provider for each pool, and DaemonSets that reduce what its nodes offer."""
    classes = [new_object(*SIMULATED, pool.name) for pool in cluster.pools]
    return [*classes, *reserve_daemon_sets(cluster)]


def reconcile(client: Client) -> None:
    """Simulates the AWS controller once: marks each EC2NodeClass as ready, and creates a simulated node class for it.

    A deleted EC2NodeClass remains until no NodeClaim uses it.
    """
    used = {str(claim["spec"]["nodeClassRef"]["name"]) for claim in list_served(client, CLAIM)}
    for node_class in list_served(client, EC2_NODE_CLASS):
        metadata = node_class["metadata"]
        if "deletionTimestamp" in metadata:
            if metadata["name"] not in used:
                client.remove_finalizers(node_class)
                client.delete(*SIMULATED, metadata["name"])
            continue
        if FINALIZER not in metadata.get("finalizers", ()):
            finalizers = [*metadata.get("finalizers", ()), FINALIZER]
            patch_present(client, node_class, {"metadata": {"finalizers": finalizers}})
            client.apply(new_object(*SIMULATED, metadata["name"]))
        if not is_true(node_class, "Ready"):
            patch_present(client, node_class, {"status": {"conditions": [ready()]}}, "status")


def node_outcomes(
    before: Snapshot, seen: Mapping[str, Object], after: Snapshot, always_running: Collection[str]
) -> Iterator[NodeOutcome]:
    """Yields what happened to each NodeClaim that had work before the change: kept, drained, removed or waiting.

    Args:
        seen: the last state of each NodeClaim during the observation, by name.
        always_running: the pools whose nodes count also without work.
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
    """Returns Karpenter's last message about why it does not replace a drifted node; an empty string without a message.

    Messages before the drift, and messages about the start of a node, do not count. If a budget allows no replacement,
    the message is about the NodePool.

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
    """Returns whether Karpenter has not yet compared a NodeClaim with its changed NodePool.

    The result is True if the NodeClaim has another hash than the NodePool, and has no condition Drifted.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go (areStaticFieldsDrifted)
    """
    if not snapshot.of("NodeClaim"):
        return False
    pools = (pool["metadata"] for pool in client.list_all(*POOL))
    hashes = {metadata["name"]: metadata.get("annotations", {}).get(_HASH) for metadata in pools}
    claims = (claim for claim in snapshot.of("NodeClaim") if not (condition(claim, _DRIFTED) or is_deleting(claim)))
    texts = ((row["metadata"].get("labels", {}), row["metadata"].get("annotations", {})) for row in claims)
    found = ((hashes.get(labels.get(NODE_POOL, "")), annotations.get(_HASH)) for labels, annotations in texts)
    return any(wanted and actual and wanted != actual for wanted, actual in found)


def drifted(snapshot: Snapshot) -> set[str]:
    """Returns the names of the NodeClaims with the condition Drifted. Karpenter wants to replace their nodes."""
    return {claim["metadata"]["name"] for claim in snapshot.of("NodeClaim") if is_true(claim, _DRIFTED)}


def await_decisions(client: Client, before: Snapshot) -> bool:
    """Waits until Karpenter has decided about drifted nodes. Returns False if Karpenter does not decide in time.

    Karpenter has decided if, for each pool with drifted nodes, Karpenter replaces a node or reports why not. Nodes that
    drifted before the change do not count.
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
    """Yields sentences about effects on nodes that `gpuc rehearse --from` cannot show."""
    yield "EC2NodeClasses are applied, but no controller reads them: the drift that they cause is not simulated."
    classes = {manifest.name for manifest in changed if manifest.kind == EC2_NODE_CLASS[1]}
    if names := ", ".join(sorted(classes)):
        yield f"The change contains EC2NodeClasses: {names}."
    yield (
        "Karpenter replaces drifted nodes within the disruption budgets, which can depend on the time of day. "
        "A drifted node that still runs at the end of the observation is reported as waiting."
    )
