"""Sentences about the behaviour that a rehearsal does not test. Every report prints the sentences."""

from __future__ import annotations

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rehearse.expectation import unused_queues
from gpuc.rehearse.suites.boundaries import FILLED_PODS, unfilled_quotas

TESTED_FRAMEWORKS = {"batch/job", "pod", "deployment", "statefulset"}
"""Frameworks of Kueue whose objects get pods in a rehearsal."""
ALWAYS = (
    "AWS: AMIs, subnets, security groups, EC2NodeClasses, launch templates, capacity, and how nodes boot.",
    "GPU software: driver, device plugin, MIG manager, DCGM. Simulated nodes have their devices from the start.",
    "Network traffic: NetworkPolicies are stored, but no network plugin enforces them.",
    "Argo CD and Prometheus: only the schemas of Applications, the AppProject and monitoring objects are checked.",
    "Container images, NCCL, and throughput.",
    "Gatekeeper's audit of running pods: policy examples with a running pod are skipped.",
    "Policies on owned objects: policy examples whose owner does not exist are skipped. Suite counted tests some.",
)


def not_tested(cluster: Cluster) -> tuple[str, ...]:
    """Returns one sentence per gap. Sentences that apply to every cluster come first."""
    sentences = list(ALWAYS)
    if own := sorted(cluster.policies.keys() - policies().keys()):
        sentences.append(f"Examples of policies that are not in gpuc's library: {', '.join(own)}.")
    if devices := unfilled_quotas(cluster):
        sentences.append(
            "The limit of ResourceQuotas for these resources, because no quota is set or more than "
            f"{FILLED_PODS} pods would be needed: {', '.join(devices)}."
        )
    if queues := unused_queues(cluster):
        sentences.append(f"ClusterQueues that no namespace may use: {', '.join(queues)}.")
    if pools := [pool.name for pool in cluster.gpu_pools if pool.counted == "quota"]:
        sentences.append(f"Nodes full of slices or shares, for pools that ResourceQuotas count: {', '.join(pools)}.")
    if frameworks := sorted(set(cluster.spec.kueue.frameworks) - TESTED_FRAMEWORKS):
        sentences.append(f"Workloads of frameworks of Kueue whose controllers do not run: {', '.join(frameworks)}.")
    return tuple(sentences)
