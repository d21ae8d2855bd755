from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("POL104", source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def jobs_outside_of_kueue(cluster: Cluster) -> Findings:
    """Kueue ignores workloads without a queue, and policy queue-required does not have stage deny.

    With a framework for pods, gpuc sets manageJobsWithoutQueueName of Kueue to false; otherwise Kueue would stop every
    pod of a tenant. Only policy queue-required then denies a Job without a queue, which would use GPUs that no quota
    counts.
    """
    frameworks = [name for name in cluster.frameworks if name in POD_FRAMEWORKS]
    stage = cluster.policy_stage("queue-required")
    if "queue-required" in cluster.policies and cluster.gpu_pools and frameworks and stage != "deny":
        key = "queue-required" if "queue-required" in cluster.policy_specs else "default"
        actual = f"policy queue-required has stage {stage}"
        message = f"{actual}; expected deny, because of framework {', '.join(frameworks)} in kueue.frameworks"
        related = [Related("the frameworks", ("spec", "kueue", "frameworks"), on_key=True)]
        yield ("spec", "policies", key), message, "set the stage of policy queue-required to deny", related
