"""Replacements for parts of a cluster that need AWS, and the report's sentences about replaced and untested parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from gpuc.documents.reader import load_yaml
from gpuc.kubernetes.resource_name import plural
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Client, Object, new_object
from gpuc.rehearse.crds import Definitions
from gpuc.rehearse.expectation import unused_queues
from gpuc.rehearse.instance_types import instance_types, node_stages, reserve_daemon_sets, zones_of
from gpuc.rehearse.plane.site import Settings
from gpuc.rehearse.sample_namespaces import SampleNamespaces
from gpuc.rehearse.suites.boundaries import FILLED_PODS, unfilled_quotas

SIMULATED_GROUP = "karpenter.kwok.sh"
SIMULATED_CLASS = "KWOKNodeClass"
SIMULATED = (f"{SIMULATED_GROUP}/v1alpha1", SIMULATED_CLASS)
RESERVED_GATE = "ReservedCapacity"
TESTED_FRAMEWORKS = {"batch/job", "pod", "deployment", "statefulset"}
"""Frameworks of Kueue whose objects get pods in a rehearsal."""
ALWAYS = (
    "AWS: AMIs, subnets, security groups, EC2NodeClasses, launch templates, capacity, and how nodes boot.",
    "GPU software: driver, device plugin, MIG manager, DCGM. Simulated nodes have their devices from the start.",
    "Network traffic: NetworkPolicies are stored, but no network plugin enforces them.",
    "Argo CD and Prometheus: only the schemas of Applications, AppProjects and monitoring objects are checked.",
    "Container images, NCCL, and throughput.",
)
OF_POLICIES = (
    "Gatekeeper's audit of running pods: policy examples with a running pod are skipped.",
    "Policies on owned objects: policy examples whose owner does not exist are skipped. Suite counted tests some.",
)


def settings(spec: CompiledSpec, definitions: Definitions, zones: Iterable[str] = ()) -> Settings:
    """Returns the settings of a control plane: the compiled configuration of controllers and the simulated provider.

    zones: the zones of the instance types; by default, those of the cluster.
    """
    configuration = spec.values("kueue")["managerConfig"]["controllerManagerConfigYaml"] if spec.cluster.queues else ""
    return Settings(
        crds=definitions.crds,
        kueue_configuration=load_yaml(configuration) if configuration else None,
        has_gatekeeper=bool(spec.cluster.policies),
        instance_types=instance_types(spec.cluster, zones or zones_of(spec.cluster)),
        karpenter_gates=_gates(spec.values("karpenter")),
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
    """Returns the objects of the simulated provider: node classes, and DaemonSets that reserve resources of nodes."""
    classes = [new_object(*SIMULATED, pool.name) for pool in cluster.pools]
    return [*classes, *reserve_daemon_sets(cluster)]


def substitutions(spec: CompiledSpec, definitions: Definitions) -> list[str]:
    """Returns sentences about the simulated and replaced parts of a cluster."""
    sentences = [
        f"Every NodePool references a {SIMULATED_CLASS}. EC2NodeClasses are applied, but no controller reads them.",
        "Instance types, prices and zones come from gpuc's catalog. Nodes are simulated and run no containers.",
        "Nodes have the allocatable resources that the compiler predicts. DaemonSets start no pods.",
        "Applications, the AppProject and monitoring objects are applied, but no controller reads them.",
    ]
    if spec.cluster.queues:
        sentences += [
            "The API server calls webhooks through Services of type ExternalName.",
            "Kueue's visibility server is disabled.",
            "Kueue's replacement of failed nodes is disabled: a simulated node's hostname label differs from its name.",
        ]
    if spec.cluster.policies:
        sentences.append("Gatekeeper's webhook only receives the kinds that a constraint matches.")
    if _gates(spec.values("karpenter")) != _installed_gates(spec.values("karpenter")):
        sentences.append(
            f"Karpenter's feature gate {RESERVED_GATE} is disabled: the simulated provider has no capacity "
            "reservations, so the capacity of type reserved is unlimited."
        )
    if spec.staying:
        names = ", ".join(spec.staying)
        sentences.append(f"Elements with `leaving: true` or `hold: true` are tested without this field: {names}.")
    if spec.moved:
        sentences.append(f"These components are in the namespaces of the release set: {', '.join(spec.moved)}.")
    if any(pool.startup_taints for pool in spec.cluster.pools):
        sentences.append(
            "Startup taints are removed as soon as a node is ready, because the agents that remove them do not run."
        )
    if definitions.structural:
        sentences.append(
            "These CustomResourceDefinitions come from gpuc's schema tables, without the CEL rules and defaults of "
            f"upstream. --crds DIR installs the files of upstream: {', '.join(definitions.structural)}."
        )
    return sentences


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
    sentences = [*ALWAYS, *_of_optional_sections(cluster)]
    if cluster.tenants and (devices := unfilled_quotas(cluster)):
        sentences.append(
            "The limit of ResourceQuotas for these resources, because no quota is set or more than "
            f"{FILLED_PODS} pods would be needed: {', '.join(devices)}."
        )
    if queues := unused_queues(cluster):
        sentences.append(f"ClusterQueues that no namespace may use: {', '.join(queues)}.")
    if pools := [pool.name for pool in cluster.gpu_pools if pool.counted == "quota"]:
        sentences.append(f"Nodes full of slices or shares, for pools that ResourceQuotas count: {', '.join(pools)}.")
    if cluster.spec.charts:
        sentences.append(f"Further charts, which are not installed: {', '.join(cluster.spec.charts)}.")
    if objects := ", ".join(map(str, unserved)):
        sentences.append(f"Objects of kinds that no CustomResourceDefinition of the rehearsal has: {objects}.")
    if frameworks := sorted(set(cluster.frameworks) - TESTED_FRAMEWORKS):
        sentences.append(f"Workloads of frameworks of Kueue whose controllers do not run: {', '.join(frameworks)}.")
    return tuple(sentences)


def _of_optional_sections(cluster: Cluster) -> Iterator[str]:
    """Yields sentences about policies, and about sections that the spec does not have."""
    if not cluster.tenants:
        yield "Tenants: the spec has none, so namespaces, permissions and quotas have no test cases."
    if not cluster.queues:
        yield "Kueue: the spec has no queues, so the control plane has no Kueue, and queues no test cases."
    if not cluster.policies:
        yield "Gatekeeper: the spec has no policies, so the control plane has no Gatekeeper."
        return
    yield from OF_POLICIES
    own = [name for name, policy in cluster.policies.items() if policy.own_examples is not None]
    if own and (without := [name for name in own if name not in SampleNamespaces(cluster).examples]):
        yield f"Policies of the fleet without settings or without usable denied examples: {', '.join(without)}."
