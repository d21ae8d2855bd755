"""Replacements for parts of a cluster that need AWS, and the report's sentences about replaced and untested parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from gpuc.documents.reader import load_yaml
from gpuc.kubernetes.resource_name import plural
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import Client, Object, new_object
from gpuc_rehearsal.crds import Definitions
from gpuc_rehearsal.existing import existing_nodes
from gpuc_rehearsal.expectation import unused_queues
from gpuc_rehearsal.instance_types import instance_types, node_stages, reserve_daemon_sets, zones_of
from gpuc_rehearsal.plane.kueue import without_replacement
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.sample_namespaces import SampleNamespaces
from gpuc_rehearsal.suites.boundaries import FILLED_PODS, unfilled_quotas

SIMULATED_GROUP = "karpenter.kwok.sh"
SIMULATED_CLASS = "KWOKNodeClass"
SIMULATED = (f"{SIMULATED_GROUP}/v1alpha1", SIMULATED_CLASS)
RESERVED_GATE = "ReservedCapacity"
TESTED_FRAMEWORKS = {"batch/job", "pod", "deployment", "statefulset"}
"""Frameworks of Kueue whose objects get pods in a rehearsal."""
_SENTENCES: dict[str, dict[str, list[str]]] = load_yaml(
    Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8")
)


def settings(spec: CompiledSpec, definitions: Definitions, zones: Iterable[str] = ()) -> Settings:
    """Returns the settings of a control plane: the compiled configuration of controllers and the simulated provider.

    zones: the zones of the instance types; by default, those of the cluster.
    """
    configuration = spec.values("kueue")["managerConfig"]["controllerManagerConfigYaml"] if spec.cluster.queues else ""
    starts_nodes = _starts_nodes(spec.cluster)
    kueue = load_yaml(configuration) if configuration else None
    return Settings(
        crds=definitions.crds,
        kueue_configuration=without_replacement(kueue) if kueue and starts_nodes else kueue,
        has_gatekeeper=bool(spec.cluster.policies),
        instance_types=instance_types(spec.cluster, zones or zones_of(spec.cluster)) if starts_nodes else (),
        karpenter_gates=_gates(spec.values("karpenter")) if starts_nodes else {},
        node_stages=tuple(node_stages(spec.cluster)),
        policy_resources=policy_resources(spec.synced),
    )


def policy_resources(synced: Iterable[Manifest]) -> tuple[tuple[str, str], ...]:
    """Returns (API group, resource) of every kind that a constraint or an ExpansionTemplate matches, sorted."""
    kinds = set()
    for manifest in synced:
        if manifest.api.startswith("constraints.gatekeeper.sh/"):
            rules = manifest.body["spec"]["match"]["kinds"]
            kinds |= {(group, kind) for rule in rules for group in rule["apiGroups"] for kind in rule["kinds"]}
        elif manifest.kind == "ExpansionTemplate":
            rules = manifest.body["spec"]["applyTo"]
            kinds |= {(group, kind) for rule in rules for group in rule["groups"] for kind in rule["kinds"]}
    return tuple((group, plural(group, kind)) for group, kind in sorted(kinds))


def simulated_document(manifest: Manifest) -> Object:
    """Returns the object that the rehearsal applies: a NodePool references the node class of the simulated provider."""
    document = manifest.document()
    if manifest.kind == "NodePool":
        document = deepcopy(document)
        reference = {"group": SIMULATED_GROUP, "kind": SIMULATED_CLASS}
        document["spec"]["template"]["spec"]["nodeClassRef"] |= reference
    return document


def replacement_objects(cluster: Cluster) -> list[Object]:
    """Returns the objects of the simulated provider: node classes, and DaemonSets that reserve resources of nodes.

    Without a provider, the objects are the nodes that exist.
    """
    if existing := existing_nodes(cluster.spec.cloud.substrate):
        return existing.nodes(cluster)
    classes = [new_object(*SIMULATED, pool.name) for pool in cluster.pools]
    return [*classes, *reserve_daemon_sets(cluster)]


def _starts_nodes(cluster: Cluster) -> bool:
    return existing_nodes(cluster.spec.cloud.substrate) is None


def substitutions(spec: CompiledSpec, definitions: Definitions) -> list[str]:
    """Returns sentences about the simulated and replaced parts of a cluster."""
    starts_nodes = _starts_nodes(spec.cluster)
    values = spec.values("karpenter") if starts_nodes else {"settings": {}}
    facts = {
        "started nodes": SIMULATED_CLASS if starts_nodes else "",
        "existing nodes": not starts_nodes,
        "always": True,
        "queues": spec.cluster.queues,
        "queues of started nodes": starts_nodes and spec.cluster.queues,
        "policies": spec.cluster.policies,
        "disabled gate": RESERVED_GATE if starts_nodes and _gates(values) != _installed_gates(values) else "",
        "staying": ", ".join(spec.staying),
        "moved": ", ".join(spec.moved),
        "startup taints": any(pool.startup_taints for pool in spec.cluster.pools),
        "structural": ", ".join(definitions.structural),
    }
    return list(_sentences("replaced", facts))


def _sentences(section: str, facts: Mapping[str, object]) -> Iterator[str]:
    """Yields the sentences of a section about the facts whose value counts as true, in the order of the facts."""
    for key in (key for key, value in facts.items() if value):
        for sentence in _SENTENCES[section][key]:
            yield sentence.format(value=facts[key], filled_pods=FILLED_PODS)


def _gates(values: Mapping[str, Any]) -> dict[str, bool]:
    return {**_installed_gates(values), RESERVED_GATE: False}


def _installed_gates(values: Mapping[str, Any]) -> dict[str, bool]:
    """Returns the feature gates of the Helm values by name. Karpenter's chart enables ReservedCapacity by default."""
    gates = values["settings"].get("featureGates", {})
    return {RESERVED_GATE: True} | {name[0].upper() + name[1:]: bool(enabled) for name, enabled in gates.items()}


def split_by_kind(client: Client, synced: Iterable[Manifest]) -> tuple[list[Manifest], list[Manifest]]:
    """Returns the objects that the control plane can store, and the objects of users whose kinds it does not serve.

    A chart that is not installed defines these kinds, or a CustomResourceDefinition among the objects of users.
    """
    served: list[Manifest] = []
    unserved: list[Manifest] = []
    for manifest in synced:
        is_served = manifest.written is None or client.serves(manifest.api, manifest.kind)
        (served if is_served else unserved).append(manifest)
    return served, unserved


def not_tested(cluster: Cluster, unserved: Iterable[Manifest] = ()) -> tuple[str, ...]:
    """Returns one sentence per gap. Sentences that apply to every cluster come first.

    Args:
        unserved: objects that are not applied.
    """
    own = [name for name, policy in cluster.policies.items() if policy.own_examples is not None]
    usable = SampleNamespaces(cluster).examples if own else {}
    facts = {
        "started nodes": _starts_nodes(cluster),
        "existing nodes": not _starts_nodes(cluster),
        "always": True,
        "no tenants": not cluster.tenants,
        "no queues": not cluster.queues,
        "no policies": not cluster.policies,
        "policies": cluster.policies,
        "policies without examples": ", ".join(name for name in own if name not in usable),
        "unfilled quotas": ", ".join(unfilled_quotas(cluster)) if cluster.tenants else "",
        "unused queues": ", ".join(unused_queues(cluster)),
        "pools of quotas": ", ".join(pool.name for pool in cluster.gpu_pools if pool.counted == "quota"),
        "charts": ", ".join(cluster.spec.charts),
        "unserved": ", ".join(map(str, unserved)),
        "frameworks": ", ".join(sorted(set(cluster.frameworks) - TESTED_FRAMEWORKS)),
    }
    return tuple(_sentences("not tested", facts))
