from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import declared, overlapping_pods


@rule("NET102", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def endpoints_among_pods(cluster: Cluster) -> Findings:
    """A range of endpoints or of the API server contains addresses of pods.

    Every tenant may call this range on port 443, and so the pods of every other tenant.
    """
    for path, text in declared(cluster, "endpointCidrs", "apiServerCidrs"):
        pods = overlapping_pods(cluster, text)
        if pods:
            yield path, f"{text} overlaps the pod addresses in {pods}"
