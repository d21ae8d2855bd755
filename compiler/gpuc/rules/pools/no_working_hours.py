from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP125", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption, budgets")
def no_working_hours(cluster: Cluster) -> Findings:
    """The spec of a cluster with GPUs declares no working hours.

    Karpenter replaces nodes with running pods at any time, for example for a new AMI. Notebooks and servers then stop
    while people use them.
    """
    if cluster.gpu_pools and cluster.spec.working_hours is None:
        message = "workingHours is missing; expected timeZone and hours"
        yield ("spec",), message, "add workingHours: {timeZone, hours: 08:00-18:00}"
