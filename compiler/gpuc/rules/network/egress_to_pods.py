from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import egress_ranges, overlapping_pod_range, pod_range_place


@rule("NET002", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def egress_to_pods(cluster: Cluster) -> Findings:
    """The egress of a tenant includes addresses of pods.

    Egress is for networks outside of the cluster. With such a range, pods of the tenant can connect to pods of all
    other tenants.
    """
    for path, text in egress_ranges(cluster):
        pod_range = overlapping_pod_range(cluster, text)
        if pod_range:
            actual = f"egress of tenant {path[2]} to {text} overlaps podCidrs {pod_range}"
            yield path, f"{actual}; expected ranges outside of the cluster", "", [pod_range_place(cluster, pod_range)]
