from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

RESTRICTIONS = ("host-access", "host-network")


@rule("POL101", Severity.WARNING, source="Kubernetes Pod Security Standards, privileged")
def privileged_without_restrictions(cluster: Cluster) -> Findings:
    """A namespace is privileged, but a policy that restricts its pods is not at deny.

    Namespaces are privileged because EFA needs the capability IPC_LOCK. Without these policies their pods may also
    mount the node's disk and use the node's network, and so reach the data of every other tenant.
    """
    names = [
        namespace.name
        for tenant in cluster.tenants
        for namespace in tenant.namespaces
        if namespace.spec.pod_security == "privileged"
    ]
    for policy in RESTRICTIONS if names else ():
        stage = cluster.policy_stage(policy)
        if stage != "deny":
            key = policy if policy in cluster.spec.policies else "default"
            message = f"{policy} is at {stage}; expected deny, because of privileged namespaces: {', '.join(names)}"
            yield ("spec", "policies", key), message
