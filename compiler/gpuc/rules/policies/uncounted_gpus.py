from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

COUNTING = ("gpu-quota", "queue-required", "owned-workloads", "gpu-queue", "pool-selector", "toleration-fence")
"""The policies without which a pod can use GPUs that no quota counts, or a node pool of another tenant."""


@rule("POL103", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def uncounted_gpus(cluster: Cluster) -> Findings:
    """The cluster has GPUs, but a policy that keeps pods to the quotas and node pools of their tenant is not at deny.

    Without gpu-quota, a pod outside of Kueue can use GPUs that Kueue counts for other workloads. Without
    queue-required, a workload can be created without a queue. Without owned-workloads, a tenant can forge the owner of
    a workload. Without gpu-queue, pool-selector and toleration-fence, a pod can start nodes of another tenant.
    """
    by_key: dict[str, list[str]] = {}
    for policy in COUNTING if cluster.gpu_pools and cluster.tenants else ():
        if policy not in cluster.policies:
            continue
        if policy == "queue-required" and POD_FRAMEWORKS & set(cluster.frameworks):
            continue  # POL104 reports the policy
        if cluster.policy_stage(policy) != "deny":
            by_key.setdefault(policy if policy in cluster.policy_specs else "default", []).append(policy)
    for key, policies in by_key.items():
        names, stage = ", ".join(policies), cluster.policy_stage(policies[0])
        message = f"stage {stage} of policy {names}; expected deny, because GPUs can be used that no quota counts"
        yield ("spec", "policies", key), message, f"set the stage of policy {names} to deny"
