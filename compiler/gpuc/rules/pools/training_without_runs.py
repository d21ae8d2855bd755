from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP103", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption.md")
def training_without_runs(cluster: Cluster) -> Findings:
    """The spec of a training node pool does not declare the length of runs.

    Without this length Karpenter replaces nodes for a new AMI also during a run, and gives the pods of these nodes an
    hour to stop. EC2 takes spot nodes back with two minutes of notice.
    """
    for pool in cluster.pools:
        if pool.spec.purpose == "training" and pool.spec.runs is None:
            message = f"purpose of node pool {pool.name} is training, but the key runs is missing"
            fix = f"add runs: {{longest, checkpointEvery}} to node pool {pool.name}"
            yield (*pool.path, "purpose"), message, fix
