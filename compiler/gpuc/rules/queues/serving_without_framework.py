from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE118", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 site/content/en/docs/tasks/run/deployment.md")
def serving_without_framework(cluster: Cluster) -> Findings:
    """Kueue counts an inference pool, but manages no kind of workload that serves requests.

    Without these frameworks Kueue manages only jobs. A Deployment on the pool is outside of Kueue, so that no quota
    counts its GPUs, or policy gpu-quota denies its pods.
    """
    frameworks = cluster.frameworks
    for pool in cluster.gpu_pools if cluster.queues else ():
        if pool.spec.purpose == "inference" and pool.counted == "kueue" and not POD_FRAMEWORKS & set(frameworks):
            names = ", ".join(sorted(POD_FRAMEWORKS))
            message = f"Kueue counts inference pool {pool.name}, but kueue.frameworks has none of {names}"
            fix = f"add deployment to kueue.frameworks, or set counted of node pool {pool.name} to quota"
            yield (*pool.path, "counted"), message, fix
