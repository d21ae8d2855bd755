from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import ingress_ranges, overlapping_pod_range, pod_range_place


@rule("NET009", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def ingress_from_pods(cluster: Cluster) -> Findings:
    """The ingress of a tenant includes addresses of pods.

    Ranges are for clients outside of the cluster and for load balancers. With such a range, pods of all other tenants
    can connect to pods of the tenant, if their egress allows the connection. If load balancers and pods have addresses
    in the same subnets, create separate subnets for load balancers.
    """
    for path, text in ingress_ranges(cluster):
        pod_range = overlapping_pod_range(cluster, text)
        if pod_range:
            actual = f"ingress of tenant {path[2]} from {text} overlaps podCidrs {pod_range}"
            expected = "`internet: true`" if text == "0.0.0.0/0" else "ranges of clients outside of the cluster"
            yield (
                path,
                f"{actual}; expected {expected}, or ranges of load balancers",
                "",
                [pod_range_place(cluster, pod_range)],
            )
