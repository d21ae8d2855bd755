from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.policies._stages import not_at_deny, set_to_deny

RESTRICTIONS = ("host-access", "host-network")


@rule("POL101", Severity.WARNING, source="Kubernetes Pod Security Standards, privileged")
def privileged_without_restrictions(cluster: Cluster) -> Findings:
    """A namespace is privileged, but policy host-access or host-network does not have stage deny.

    On AMIs other than AL2023, EFA needs privileged namespaces (capability IPC_LOCK). Without these policies the pods of
    a privileged namespace may also mount the node's disk and use the node's network, and can read the data of others.
    """
    privileged = [namespace for _, namespace in cluster.namespaces if namespace.spec.pod_security == "privileged"]
    names = ", ".join(namespace.name for namespace in privileged)
    related = [
        Related(f"namespace {namespace.name} is privileged", (*namespace.path, "podSecurity"))
        for namespace in privileged
    ]
    for key, policies in not_at_deny(cluster, RESTRICTIONS if privileged else ()).items():
        actual = f"stage {cluster.policy_stage(policies[0])} of policy {', '.join(policies)}"
        message = f"{actual}; expected deny, because these namespaces are privileged: {names}"
        yield ("spec", "policies", key), message, set_to_deny(key, policies), related
