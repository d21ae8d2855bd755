from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.policies._stages import not_at_deny, set_to_deny

_POLICY = "priority-classes"


@rule("POL105", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def system_priority_of_tenants(cluster: Cluster) -> Findings:
    """Tenants can give workloads the priority of system components: the policy priority-classes is not at deny.

    Kueue takes the priority of a workload from the PriorityClass of its pods. With system-node-critical, a workload
    preempts all workloads in its queue. A ResourceQuota then refuses the pods, so the GPUs are idle.
    """
    for key, policies in not_at_deny(cluster, [_POLICY] if cluster.tenants else []).items():
        stage = cluster.policy_stage(_POLICY)
        message = f"stage {stage} of policy {_POLICY}; expected deny, because a system PriorityClass preempts workloads"
        yield ("spec", "policies", key), message, set_to_deny(key, policies)
