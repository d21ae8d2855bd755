from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

FENCES = ("host-access", "host-network")


@rule("POL101", Severity.WARNING, source="Kubernetes Pod Security Standards, privileged")
def privileged_without_fence(cluster: Cluster) -> Findings:
    """A namespace is privileged, and the policies that fence it do not refuse.

    Privileged namespaces exist because EFA needs one capability. Without these policies their pods may also mount the
    node's disk and use its network, and with that every other tenant's data.
    """
    names = [
        namespace.name
        for tenant in cluster.tenants
        for namespace in tenant.namespaces
        if namespace.spec.pod_security == "privileged"
    ]
    for policy in FENCES if names else ():
        stage = cluster.policy_stage(policy)
        if stage != "deny":
            written = policy if policy in cluster.spec.policies else "default"
            message = f"{policy} is at {stage}, but {', '.join(names)} is privileged; it takes deny"
            yield ("spec", "policies", written), message
