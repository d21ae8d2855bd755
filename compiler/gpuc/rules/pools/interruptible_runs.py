from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "KRP005",
    source="EC2 user guide, spot interruptions; aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption.md",
)
def interruptible_runs(cluster: Cluster) -> Findings:
    """Runs on spot capacity save no checkpoints.

    EC2 takes spot nodes back with two minutes of notice. After the loss of one node, the complete run starts again from
    the beginning.
    """
    for pool in cluster.pools:
        runs = pool.spec.runs
        if runs and runs.checkpoint_every is None and "spot" in pool.spec.purchase:
            longest = format_duration(runs.longest)
            message = (
                f"node pool {pool.name} buys spot capacity for runs of up to {longest}, but has no runs.checkpointEvery"
            )
            fix = f"add checkpointEvery to runs of node pool {pool.name}, or remove spot from purchase"
            related = [Related("runs without checkpoints", (*pool.path, "runs"), on_key=True)]
            yield (*pool.path, "purchase", pool.spec.purchase.index("spot")), message, fix, related
