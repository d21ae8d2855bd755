"""The list of things that a rehearsal does not test. Every report prints it."""

from __future__ import annotations

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rehearse.suites.boundaries import FILLED_PODS, unfilled_quotas

ALWAYS = (
    "AWS: AMIs, subnets, security groups, EC2NodeClasses, launch templates, capacity, and how nodes boot.",
    "GPU software: driver, device plugin, MIG manager, DCGM. Simulated nodes have their devices from the start.",
    "Network traffic: NetworkPolicies are stored, but no network plugin enforces them.",
    "How Argo CD syncs the Applications and how Prometheus evaluates the rules. Only the schemas of these objects "
    "are checked.",
    "Container images, NCCL, and throughput.",
    "Gatekeeper's audit of running pods: examples of policies that show a running pod are skipped.",
)


def not_tested(cluster: Cluster) -> tuple[str, ...]:
    """One sentence for each gap. Sentences that apply to every cluster come first."""
    sentences = list(ALWAYS)
    if own := sorted(cluster.policies.keys() - policies().keys()):
        sentences.append(f"Examples of the fleet's own policies: {', '.join(own)}.")
    if devices := unfilled_quotas(cluster):
        sentences.append(
            "The upper limit of ResourceQuotas for these resources, because more than "
            f"{FILLED_PODS} pods would be needed, or no quota is set: {', '.join(devices)}."
        )
    return tuple(sentences)
