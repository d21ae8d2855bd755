from __future__ import annotations

from compiler.finding import Severity
from compiler.model import Cluster
from compiler.rules import Breaches, rule


@rule("KRP103", Severity.WARNING, source="pitfall KRP-005")
def spot_training_without_runs(cluster: Cluster) -> Breaches:
    """Training on spot capacity says neither how long it runs nor how often it saves itself.

    EC2 takes spot nodes back with two minutes of warning; how much work is then lost is nobody's decision.
    """
    for pool in cluster.pools:
        if pool.spec.purpose == "training" and pool.spec.runs is None and "spot" in pool.spec.purchase:
            message = f"{pool.name} trains on spot capacity without runs: {{longest, checkpointEvery}}"
            yield (*pool.path, "purchase", pool.spec.purchase.index("spot")), message
