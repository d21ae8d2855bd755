"""Karpenter in a rehearsal, with the simulated provider of kwok, and node classes in place of EC2NodeClasses."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path

from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.argocd.pods import PodRun
from gpuc_rehearsal.argocd.simulated_controllers import list_served, patch_present, ready
from gpuc_rehearsal.client import Client, Object, is_true, new_object
from gpuc_rehearsal.plane.site import Settings, Site
from gpuc_rehearsal.process import LOOPBACK, Process
from gpuc_rehearsal.substrates.eks.instance_types import reserve_daemon_sets

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


def start(run: PodRun) -> Process:
    """Starts Karpenter with the simulated provider.

    Feature gates of the settings override feature gates of the pod.
    """
    health = run.site.port()
    local = _environment(run.site, run.settings, run.folder, health)
    local["FEATURE_GATES"] = ",".join(filter(None, (run.variables.get("FEATURE_GATES"), local["FEATURE_GATES"])))
    return run.start(PROGRAM, [], local, health)


def start_program(site: Site, settings: Settings) -> Process:
    """Starts Karpenter with the instance types of the settings. kwok simulates the nodes."""
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
    """Returns the feature gates of the Helm values by name, without capacity reservations."""
    return {**_installed_gates(spec), RESERVED_GATE: False}


def unsupported_gate(spec: CompiledSpec) -> str:
    """Returns the feature gate of capacity reservations if the cluster has it."""
    return RESERVED_GATE if _installed_gates(spec)[RESERVED_GATE] else ""


def _installed_gates(spec: CompiledSpec) -> dict[str, bool]:
    """Returns the feature gates of the Helm values by name. Karpenter's chart enables ReservedCapacity by default."""
    given = spec.values(COMPONENT)["settings"].get("featureGates", {})
    return {RESERVED_GATE: True} | {name[0].upper() + name[1:]: bool(enabled) for name, enabled in given.items()}


def simulated(manifest: Manifest) -> Object:
    """Returns a NodePool that references the node class of the simulated provider."""
    document = deepcopy(manifest.document())
    document["spec"]["template"]["spec"]["nodeClassRef"] |= {"group": SIMULATED_GROUP, "kind": SIMULATED_CLASS}
    return document


def simulated_text(text: str) -> str:
    """Returns the text of a YAML file in which NodePools use the simulated node class."""
    return _NODE_CLASS.sub(rf"\g<1>{SIMULATED_GROUP}\g<2>{SIMULATED_CLASS}\n", text)


def replacements(cluster: Cluster) -> list[Object]:
    """Returns node classes of the simulated provider, and DaemonSets that reserve resources of nodes."""
    classes = [new_object(*SIMULATED, pool.name) for pool in cluster.pools]
    return [*classes, *reserve_daemon_sets(cluster)]


def reconcile(client: Client) -> None:
    """Marks EC2NodeClasses as ready, and creates a simulated node class for each new EC2NodeClass.

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
