from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

COUNTING = ("gpu-quota", "queue-required")


@rule("POL103", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def uncounted_gpus(cluster: Cluster) -> Findings:
    """The cluster has GPUs, but policy gpu-quota or queue-required does not have stage deny.

    Without policy gpu-quota a pod outside of Kueue can use GPUs that Kueue counts for other workloads. Without policy
    queue-required a workload can be created without a queue.
    """
    for policy in COUNTING if cluster.gpu_pools else ():
        stage = cluster.policy_stage(policy)
        if policy == "queue-required" and POD_FRAMEWORKS & set(cluster.spec.kueue.frameworks):
            continue  # POL104 reports the policy
        if stage != "deny":
            key = policy if policy in cluster.spec.policies else "default"
            message = f"policy {policy} has stage {stage}; expected deny, because GPUs can be used that no quota counts"
            yield ("spec", "policies", key), message, f"set the stage of policy {policy} to deny"
