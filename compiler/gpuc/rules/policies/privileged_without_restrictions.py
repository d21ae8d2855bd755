from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

RESTRICTIONS = ("host-access", "host-network")


@rule("POL101", Severity.WARNING, source="Kubernetes Pod Security Standards, privileged")
def privileged_without_restrictions(cluster: Cluster) -> Findings:
    """A namespace is privileged, but policy host-access or host-network does not have stage deny.

    On AMIs other than AL2023, EFA needs privileged namespaces (capability IPC_LOCK). Without these policies the pods of
    a privileged namespace may also mount the node's disk and use the node's network, and can read the data of others.
    """
    names = [
        namespace.name
        for tenant in cluster.tenants
        for namespace in tenant.namespaces
        if namespace.spec.pod_security == "privileged"
    ]
    for policy in RESTRICTIONS if names and cluster.policies else ():
        stage = cluster.policy_stage(policy)
        if stage != "deny":
            key = policy if policy in cluster.policy_specs else "default"
            actual = f"policy {policy} has stage {stage}"
            message = f"{actual}; expected deny, because these namespaces are privileged: {', '.join(names)}"
            yield ("spec", "policies", key), message, f"set stage of policy {policy} to deny"
