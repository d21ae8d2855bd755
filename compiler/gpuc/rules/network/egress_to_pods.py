from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import egress, overlapping_pods


@rule("NET002", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def egress_to_pods(cluster: Cluster) -> Findings:
    """The egress of a tenant includes addresses of pods.

    Egress is for networks outside of the cluster. With this range the tenant can connect to pods of all other tenants.
    """
    for path, text in egress(cluster):
        pods = overlapping_pods(cluster, text)
        if pods:
            message = (
                f"egress of tenant {path[2]} to {text} overlaps podCidrs {pods}; expected ranges outside of the cluster"
            )
            yield path, message
