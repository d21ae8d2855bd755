from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP104", Severity.WARNING)
def checkpoint_after_longest_run(cluster: Cluster) -> Findings:
    """The time between checkpoints is longer than the longest run.

    Every run ends before its first checkpoint.
    """
    for pool in cluster.pools:
        runs = pool.spec.runs
        if runs and runs.checkpoint_every and runs.checkpoint_every > runs.longest:
            every, longest = format_duration(runs.checkpoint_every), format_duration(runs.longest)
            message = f"runs.checkpointEvery of node pool {pool.name} is {every}, but runs.longest is {longest}"
            related = [Related(f"runs.longest is {longest}", (*pool.path, "runs", "longest"))]
            yield (*pool.path, "runs", "checkpointEvery"), message, "", related
