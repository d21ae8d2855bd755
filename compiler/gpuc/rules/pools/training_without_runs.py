from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP103", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption.md")
def training_without_runs(cluster: Cluster) -> Findings:
    """A training pool declares neither the length of runs nor checkpoints.

    Its nodes then expire after 30 days and drain within an hour, whatever runs on them. On spot, EC2 gives two minutes
    of notice.
    """
    for pool in cluster.pools:
        if pool.spec.purpose == "training" and pool.spec.runs is None:
            message = f"{pool.name} is for training, but has no runs; write runs: {{longest, checkpointEvery}}"
            yield (*pool.path, "purpose"), message
