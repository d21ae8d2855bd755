from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP103", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption.md")
def training_without_runs(cluster: Cluster) -> Findings:
    """A pool for training says neither how long runs take nor how often they save themselves.

    Its nodes then expire after 30 days and drain within an hour, whatever runs on them; on spot, EC2 leaves two
    minutes.
    """
    for pool in cluster.pools:
        if pool.spec.purpose == "training" and pool.spec.runs is None:
            message = f"{pool.name} is for training, but has no runs: {{longest, checkpointEvery}}"
            yield (*pool.path, "purpose"), message
