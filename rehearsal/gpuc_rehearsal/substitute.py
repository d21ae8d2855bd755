"""Replaces the parts of a cluster that need a cloud, and reports which parts were replaced or not tested."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpuc.documents.reader import load_yaml
from gpuc.kubernetes.resource_name import plural
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.autoscaler import Autoscaler, autoscaler_of, autoscalers, existing_nodes
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.crds import Definitions
from gpuc_rehearsal.expectation import unused_queues
from gpuc_rehearsal.plane.kueue import without_replacement
from gpuc_rehearsal.plane.kwok import node_stages, zones_of
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.sample_namespaces import SampleNamespaces
from gpuc_rehearsal.suites.boundaries import FILLED_PODS, unfilled_quotas

TESTED_FRAMEWORKS = {"batch/job", "pod", "deployment", "statefulset"}
"""Frameworks of Kueue whose objects get pods in a rehearsal."""
_SENTENCES: dict[str, dict[str, list[str]]] = load_yaml(
    Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8")
)


def settings(spec: CompiledSpec, definitions: Definitions, zones: Iterable[str] = ()) -> Settings:
    """Returns the settings of a control plane for a spec: the controllers' configuration and the simulated nodes.

    zones: the zones in which the simulated provider offers instance types; by default, the zones of the cluster.
    """
    configuration = spec.values("kueue")["managerConfig"]["controllerManagerConfigYaml"] if spec.cluster.queues else ""
    autoscaler = autoscaler_of(spec.cluster)
    kueue = load_yaml(configuration) if configuration else None
    return Settings(
        crds=definitions.crds,
        kueue_configuration=without_replacement(kueue) if kueue and autoscaler else kueue,
        has_gatekeeper=bool(spec.cluster.policies),
        autoscaler=autoscaler,
        instance_types=autoscaler.instance_types(spec.cluster, zones or zones_of(spec.cluster)) if autoscaler else (),
        feature_gates=autoscaler.gates(spec) if autoscaler else {},
        node_stages=tuple(node_stages(spec.cluster)),
        policy_resources=policy_resources(spec.synced),
    )


def policy_resources(synced: Iterable[Manifest]) -> tuple[tuple[str, str], ...]:
    """Returns the resources that policies check as sorted pairs of API group and resource, as in ("batch", "jobs")."""
    kinds = set()
    for manifest in synced:
        key, rules = "apiGroups", []
        if manifest.api.startswith("constraints.gatekeeper.sh/"):
            rules = manifest.body["spec"]["match"]["kinds"]
        elif manifest.kind == "ExpansionTemplate":
            key, rules = "groups", manifest.body["spec"]["applyTo"]
        kinds |= {(group, kind) for rule in rules for group in rule[key] for kind in rule["kinds"]}
    return tuple((group, plural(group, kind)) for group, kind in sorted(kinds))


def simulated_document(manifest: Manifest) -> Object:
    """Returns the object that a rehearsal applies. A NodePool gets a reference to the simulated cloud provider."""
    row = next((row for row in autoscalers() if row.pool == (manifest.api, manifest.kind)), None)
    return row.simulated(manifest) if row else manifest.document()


def replacement_objects(cluster: Cluster) -> list[Object]:
    """Returns the objects that the simulated provider needs, or the nodes of a cluster without an autoscaler."""
    if existing := existing_nodes(cluster.spec.cloud.substrate):
        return existing.nodes(cluster)
    autoscaler = autoscaler_of(cluster)
    return autoscaler.replacements(cluster) if autoscaler else []


def substitutions(spec: CompiledSpec, definitions: Definitions) -> list[str]:
    """Returns sentences about the parts of a cluster that a rehearsal simulates or replaces, for a report."""
    autoscaler = autoscaler_of(spec.cluster)
    facts = {
        "started nodes": autoscaler.simulated_class if autoscaler else "",
        "existing nodes": not autoscaler,
        "always": True,
        "queues": spec.cluster.queues,
        "queues of started nodes": autoscaler and spec.cluster.queues,
        "policies": spec.cluster.policies,
        "disabled gate": autoscaler.unsupported_gate(spec) if autoscaler else "",
        "staying": ", ".join(spec.staying),
        "moved": ", ".join(spec.moved),
        "startup taints": any(pool.startup_taints for pool in spec.cluster.pools),
        "structural": ", ".join(definitions.structural),
    }
    return list(_sentences("replaced", facts, autoscaler))


def _sentences(section: str, facts: Mapping[str, object], autoscaler: Autoscaler | None) -> Iterator[str]:
    """Yields the sentences of a section for each fact that is true, in the order of the facts."""
    known = {**_SENTENCES[section], **(autoscaler.sentences[section] if autoscaler else {})}
    for key in (key for key, value in facts.items() if value):
        for sentence in known[key]:
            yield sentence.format(value=facts[key], filled_pods=FILLED_PODS)


def split_by_kind(client: Client, synced: Iterable[Manifest]) -> tuple[list[Manifest], list[Manifest]]:
    """Returns two lists: the objects that the control plane can store, and objects of users whose kinds are not served.

    These kinds are defined by a chart that is not installed, or by a CustomResourceDefinition that a user wrote.
    """
    groups: tuple[list[Manifest], list[Manifest]] = [], []
    for manifest in synced:
        groups[manifest.written is not None and not client.serves(manifest.api, manifest.kind)].append(manifest)
    return groups


def not_tested(cluster: Cluster, unserved: Iterable[Manifest] = ()) -> tuple[str, ...]:
    """Returns sentences about what the rehearsal does not test. Sentences that are true of every cluster come first.

    Args:
        unserved: objects that are not applied.
    """
    own = [name for name, policy in cluster.policies.items() if policy.own_examples is not None]
    usable = SampleNamespaces(cluster).examples if own else {}
    autoscaler = autoscaler_of(cluster)
    facts = {
        "started nodes": autoscaler is not None,
        "existing nodes": autoscaler is None,
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
    return tuple(_sentences("not tested", facts, autoscaler))
