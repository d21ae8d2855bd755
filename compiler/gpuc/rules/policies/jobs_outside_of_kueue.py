from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.policies._stages import not_at_deny, set_to_deny


@rule("POL104", source="kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go")
def jobs_outside_of_kueue(cluster: Cluster) -> Findings:
    """Kueue ignores workloads without a queue, and policy queue-required does not have stage deny.

    With a framework for pods, gpuc sets manageJobsWithoutQueueName of Kueue to false; otherwise Kueue would stop every
    pod of a tenant. Only policy queue-required then denies a Job without a queue, which would use GPUs that no quota
    counts.
    """
    frameworks = [name for name in cluster.frameworks if name in POD_FRAMEWORKS]
    required = ["queue-required"] if cluster.gpu_pools and frameworks else []
    for key, policies in not_at_deny(cluster, required).items():
        actual = f"policy queue-required has stage {cluster.policy_stage('queue-required')}"
        message = f"{actual}; expected deny, because of framework {', '.join(frameworks)} in kueue.frameworks"
        related = [Related("the frameworks", ("spec", "kueue", "frameworks"), on_key=True)]
        yield ("spec", "policies", key), message, set_to_deny(key, policies), related
