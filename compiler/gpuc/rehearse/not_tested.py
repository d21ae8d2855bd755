"""Sentences about the behaviour that a rehearsal does not test. Every report prints the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.rehearse.client import Client
from gpuc.rehearse.expectation import unused_queues
from gpuc.rehearse.sample_namespaces import SampleNamespaces
from gpuc.rehearse.suites.boundaries import FILLED_PODS, unfilled_quotas

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
