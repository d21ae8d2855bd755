from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.policies._stages import not_at_deny, set_to_deny

COUNTING = ("gpu-quota", "queue-required", "owned-workloads", "gpu-queue", "pool-selector", "toleration-fence")
"""The policies without which a pod can use GPUs that no quota counts, or a node pool of another tenant."""


@rule("POL103", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def uncounted_gpus(cluster: Cluster) -> Findings:
    """The cluster has GPUs, but a policy that keeps pods to the quotas and node pools of their tenant is not at deny.

    Without gpu-quota, a pod outside of Kueue can use GPUs that Kueue counts for other workloads. Without
    queue-required, a workload can be created without a queue. Without owned-workloads, a tenant can forge the owner of
    a workload. Without gpu-queue, pool-selector and toleration-fence, a pod can start nodes of another tenant.
    """
    # POL104 reports policy queue-required if Kueue counts pods.
    is_reported = bool(POD_FRAMEWORKS & set(cluster.frameworks))
    policies = [policy for policy in COUNTING if not (is_reported and policy == "queue-required")]
    by_key = not_at_deny(cluster, policies) if cluster.gpu_pools and cluster.tenants else {}
    for key, lenient in by_key.items():
        names, stage = ", ".join(lenient), cluster.policy_stage(lenient[0])
        message = f"stage {stage} of policy {names}; expected deny, because GPUs can be used that no quota counts"
        yield ("spec", "policies", key), message, set_to_deny(key, lenient)
