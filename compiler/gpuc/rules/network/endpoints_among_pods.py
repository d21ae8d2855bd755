from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import aws_ranges, overlapping_pod_range, pod_range_place


@rule("NET102", source="Kubernetes documentation, NetworkPolicy, ipBlock")
def endpoints_among_pods(cluster: Cluster) -> Findings:
    """endpointCidrs, s3GatewayCidrs or apiServerCidrs contain addresses of pods.

    Pods of tenants may connect to these ranges on port 443. With such a range, pods of a tenant can also connect to
    pods of all other tenants.
    """
    for path, text in aws_ranges(cluster, "endpointCidrs", "s3GatewayCidrs", "apiServerCidrs"):
        pod_range = overlapping_pod_range(cluster, text)
        if pod_range:
            yield (
                path,
                f"{path[3]} {text} overlaps podCidrs {pod_range}; expected ranges without addresses of pods",
                "",
                [pod_range_place(cluster, pod_range)],
            )
