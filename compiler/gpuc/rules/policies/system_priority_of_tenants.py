from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

_POLICY = "priority-classes"


@rule("POL105", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def system_priority_of_tenants(cluster: Cluster) -> Findings:
    """Tenants can give workloads the priority of system components: the policy priority-classes is not at deny.

    Kueue takes the priority of a workload from the PriorityClass of its pods. With system-node-critical, a workload
    preempts all workloads in its queue. A ResourceQuota then refuses the pods, so the GPUs are idle.
    """
    stage = cluster.policy_stage(_POLICY)
    if _POLICY in cluster.policies and cluster.tenants and stage != "deny":
        message = f"stage {stage} of policy {_POLICY}; expected deny, because a system PriorityClass preempts workloads"
        key = _POLICY if _POLICY in cluster.policy_specs else "default"
        yield ("spec", "policies", key), message, f"set the stage of policy {_POLICY} to deny"
