from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import egress, overlapping_pods


@rule("NET002", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def egress_to_pods(cluster: Cluster) -> Findings:
    """A tenant may call a range in which pods have their addresses.

    The rule was meant for something outside, and opens the way to every other tenant's pods.
    """
    for path, text in egress(cluster):
        pods = overlapping_pods(cluster, text)
        if pods:
            yield path, f"{text} overlaps the pods' addresses, {pods}; egress takes networks outside of the cluster"
