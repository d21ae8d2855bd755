from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import declared, overlapping_pods


@rule("NET102", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def endpoints_among_pods(cluster: Cluster) -> Findings:
    """endpointCidrs or apiServerCidrs contain addresses of pods.

    Every tenant may connect to these ranges on port 443, and so to pods of all other tenants.
    """
    for path, text in declared(cluster, "endpointCidrs", "apiServerCidrs"):
        pods = overlapping_pods(cluster, text)
        if pods:
            yield path, f"{path[3]} {text} overlaps podCidrs {pods}; expected ranges without addresses of pods"
