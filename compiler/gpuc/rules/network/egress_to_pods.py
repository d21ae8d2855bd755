from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import egress, overlapping_pods


@rule("NET002", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def egress_to_pods(cluster: Cluster) -> Findings:
    """A tenant may call a range that contains addresses of pods.

    Egress is for networks outside the cluster. This range opens the way to the pods of every other tenant.
    """
    for path, text in egress(cluster):
        pods = overlapping_pods(cluster, text)
        if pods:
            yield path, f"{text} overlaps the pod addresses in {pods}; egress is for networks outside of the cluster"
