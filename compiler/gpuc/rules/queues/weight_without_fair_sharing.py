from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.spec.base import SpecModel


@rule("KUE112", Severity.WARNING)
def weight_without_fair_sharing(cluster: Cluster) -> Findings:
    """A queue or cohort has a weight, but fair sharing is off.

    Without fair sharing Kueue ignores weights, and idle quota goes to the first workload that requests quota.
    """
    if cluster.spec.queueing.fair_sharing:
        return
    weights = {(*queue.path, "weight"): queue.spec.weight for queue in cluster.queues if _sets_weight(queue.spec)}
    weights |= {(*cohort.path, "weight"): cohort.spec.weight for cohort in cluster.cohorts if _sets_weight(cohort.spec)}
    for path, weight in weights.items():
        kind = str(path[-3]).removesuffix("s")
        message = f"weight of {kind} {path[-2]} is {weight}, but queueing.fairSharing is false"
        yield path, message, "set queueing.fairSharing to true, or remove weight"


def _sets_weight(spec: SpecModel) -> bool:
    return "weight" in spec.model_fields_set
