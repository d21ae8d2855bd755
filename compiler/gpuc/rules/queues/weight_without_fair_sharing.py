from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._weights import weights


@rule("KUE112", Severity.WARNING)
def weight_without_fair_sharing(cluster: Cluster) -> Findings:
    """A queue or cohort has a weight, but fair sharing is off.

    Without fair sharing Kueue ignores weights, and idle quota goes to the first workload that requests quota.
    """
    for element, words in weights(cluster) if not cluster.spec.queueing.fair_sharing else ():
        message = f"{words}, but queueing.fairSharing is false"
        yield (*element.path, "weight"), message, "set queueing.fairSharing to true, or remove weight"
