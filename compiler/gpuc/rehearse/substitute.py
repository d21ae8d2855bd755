"""What a rehearsal puts in the place of what only AWS has, each with the words of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Object
from gpuc.rehearse.crds import Definitions
from gpuc.rehearse.instance_types import instance_types, reserves
from gpuc.rehearse.node_stages import node_stages
from gpuc.rehearse.plane.settings import Settings

SIMULATED_GROUP = "karpenter.kwok.sh"
SIMULATED_CLASS = "KWOKNodeClass"
RESERVED_GATE = "ReservedCapacity"


def settings(spec: CompiledSpec, definitions: Definitions) -> Settings:
    """What the control plane of a spec is started with: the emitted configuration, and a provider of our own facts."""
    return Settings(
        crds=definitions.crds,
        kueue_configuration=_kueue_configuration(spec.values("kueue")),
        instance_types=instance_types(spec.cluster),
        karpenter_gates=_gates(spec.values("karpenter")),
        node_stages=tuple(node_stages(spec.cluster)),
        judged=judged(spec.synced),
    )


def judged(synced: Iterable[Manifest]) -> tuple[tuple[str, str], ...]:
    """API group and resource of every kind that a constraint matches, or that is expanded to one."""
    found = set()
    for each in synced:
        if each.api.startswith("constraints.gatekeeper.sh/"):
            entries = each.body["spec"]["match"]["kinds"]
            found |= {(group, kind) for entry in entries for group in entry["apiGroups"] for kind in entry["kinds"]}
        elif each.kind == "ExpansionTemplate":
            entries = each.body["spec"]["applyTo"]
            found |= {(group, kind) for entry in entries for group in entry["groups"] for kind in entry["kinds"]}
    return tuple((group, _plural(kind)) for group, kind in sorted(found))


def rehearsed(manifest: Manifest) -> Object:
    """The document of a manifest as the rehearsal applies it: a NodePool starts nodes of the simulated class."""
    document = manifest.document()
    if manifest.kind == "NodePool":
        document = deepcopy(document)
        reference = document["spec"]["template"]["spec"]["nodeClassRef"]
        document["spec"]["template"]["spec"]["nodeClassRef"] = {
            "group": SIMULATED_GROUP,
            "kind": SIMULATED_CLASS,
            "name": reference["name"],
        }
    return document


def stand_ins(cluster: Cluster) -> list[Object]:
    """Objects that stand for what the rehearsal lacks: node classes, and what nodes keep for themselves."""
    classes = [
        {"apiVersion": f"{SIMULATED_GROUP}/v1alpha1", "kind": SIMULATED_CLASS, "metadata": {"name": pool.name}}
        for pool in cluster.pools
    ]
    return [*classes, *reserves(cluster)]


def substitutions(spec: CompiledSpec, definitions: Definitions) -> list[str]:
    """What was put in the place of something else, one sentence each."""
    said = [
        f"nodeClassRef of every NodePool names a {SIMULATED_CLASS}: EC2NodeClasses are applied and read by nobody.",
        "Instance types, prices and zones are those of gpuc's catalog; nodes are simulated and run nothing.",
        "Nodes and instance types have what the compiler predicts that a node leaves to tenants: no kubelet and no "
        "agent takes its share, and DaemonSets start no pods.",
        "Webhooks are reached by Services of type ExternalName; Kueue's visibility server is off.",
        "Kueue gives no work another node for a lost one: simulated nodes do not have the name of their host.",
        "Gatekeeper's webhook, and so its policies in the API server, are asked about kinds that a constraint names.",
        "Applications, the AppProject and monitoring objects are applied and read by nobody.",
    ]
    if _gates(spec.values("karpenter")) != _installed_gates(spec.values("karpenter")):
        said.append(
            f"Karpenter's gate {RESERVED_GATE} is off: the simulated provider has no reservations, so offerings of "
            "the capacity type reserved never run out."
        )
    if spec.staying:
        said.append(f"What leaves is played as though it stayed: {', '.join(spec.staying)}.")
    if any(pool.startup_taints for pool in spec.cluster.pools):
        said.append("Startup taints go as soon as a node is ready: the agents that take them away are not there.")
    if definitions.structural:
        said.append(
            f"{', '.join(definitions.structural)} are made from gpuc's own tables, without upstream's rules and "
            "defaults: --crds DIR installs upstream's own."
        )
    return said


def _plural(kind: str) -> str:
    """Of the kinds that policies judge; the API server's webhooks go by resource, constraints by kind."""
    name = kind.lower()
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _gates(values: Mapping[str, Any]) -> dict[str, bool]:
    return {**_installed_gates(values), RESERVED_GATE: False}


def _installed_gates(values: Mapping[str, Any]) -> dict[str, bool]:
    """Names of gates as the controller spells them; its chart has reserved capacity on."""
    written = values["settings"].get("featureGates", {})
    return {RESERVED_GATE: True} | {name[0].upper() + name[1:]: bool(on) for name, on in written.items()}


def _kueue_configuration(values: Mapping[str, Any]) -> Body:
    from ruamel.yaml import YAML

    text = values["managerConfig"]["controllerManagerConfigYaml"]
    configuration: Body = YAML(typ="safe").load(text)
    return configuration
