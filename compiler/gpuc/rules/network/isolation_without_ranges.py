from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET006")
def isolation_without_ranges(cluster: Cluster) -> Findings:
    """A tenant is isolated by NetworkPolicies, but the spec lacks address ranges that the policies need.

    Without endpointCidrs, pods reach no AWS service. Without apiServerCidrs, pods do not reach the API server. Without
    podCidrs, gpuc cannot check that other ranges contain no pods of other tenants.
    """
    ranges = {"podCidrs": cluster.aws.pod_cidrs, "endpointCidrs": cluster.aws.endpoint_cidrs}
    for tenant in cluster.tenants:
        if not tenant.isolates_network:
            continue
        if tenant.spec.network.api_server:
            ranges["apiServerCidrs"] = cluster.aws.api_server_cidrs
        missing = [key for key, cidrs in ranges.items() if not cidrs]
        if missing:
            needed = f"isolation of tenant {tenant.name} is {tenant.spec.isolation}"
            message = f"{needed}, but cloud.aws has no {', '.join(missing)}"
            yield (*tenant.path, "isolation"), message, f"add {', '.join(missing)} to cloud.aws"
            return
