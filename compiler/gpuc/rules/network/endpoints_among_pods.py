from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import declared, overlapping_pods


@rule("NET102", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def endpoints_among_pods(cluster: Cluster) -> Findings:
    """The range of endpoints or of the API server is one in which pods have their addresses.

    It is open to every tenant on port 443, and so would be every other tenant's pods.
    """
    for path, text in declared(cluster, "endpointCidrs", "apiServerCidrs"):
        pods = overlapping_pods(cluster, text)
        if pods:
            yield path, f"{text} overlaps the pods' addresses, {pods}"
