"""What a rehearsal cannot judge: nobody should read its silence as consent."""

from __future__ import annotations

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rehearse.scenes.fences import FILLED_PODS, unfilled

ALWAYS = (
    "AWS itself: AMIs, subnets, security groups, EC2NodeClasses, launch templates, capacity, how nodes boot.",
    "GPU software: driver, device plugin, MIG manager, DCGM; simulated nodes have their devices from the start.",
    "Traffic: NetworkPolicies are stored, nothing enforces them.",
    "Argo CD's own syncing, and what Prometheus makes of its rules: their objects are held against schemas.",
    "Container images, NCCL, throughput.",
    "Pods that run already, as Gatekeeper's audit reports them: examples of policies that show one are not played.",
)


def unjudged(cluster: Cluster) -> tuple[str, ...]:
    """One sentence each; what holds for every cluster comes first."""
    said = list(ALWAYS)
    if own := sorted(cluster.policies.keys() - policies().keys()):
        said.append(f"Examples of the fleet's own policies: {', '.join(own)}.")
    if devices := unfilled(cluster):
        said.append(
            f"The last piece of namespaces' quotas that take more than {FILLED_PODS} pods: {', '.join(devices)}."
        )
    return tuple(said)
