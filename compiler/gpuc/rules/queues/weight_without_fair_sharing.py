from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.spec.base import SpecModel


@rule("KUE112", Severity.WARNING)
def weight_without_fair_sharing(cluster: Cluster) -> Findings:
    """A weight is given, but the cluster does not share by weight.

    Idle quota goes to whoever asks first, whatever the weights say.
    """
    if cluster.spec.queueing.fair_sharing:
        return
    written = {(*queue.path, "weight"): queue.spec.weight for queue in cluster.queues if _says(queue.spec)}
    written |= {(*cohort.path, "weight"): cohort.spec.weight for cohort in cluster.cohorts if _says(cohort.spec)}
    for path, weight in written.items():
        yield path, f"weight of {path[-2]} is {weight}, but queueing.fairSharing is off"


def _says(wish: SpecModel) -> bool:
    return "weight" in wish.model_fields_set
