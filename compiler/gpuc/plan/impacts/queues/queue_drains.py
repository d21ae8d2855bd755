from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.queue_ends import DRAIN, HOLD, NONE, stop_changes


@impact(
    "IMP218",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/core/workload_controller.go, reconcileOnLocalQueueActiveState",
)
def queue_drains(change: Change) -> Impacts:
    """Kueue evicts all running workloads of a queue, because of stopPolicy HoldAndDrain.

    The jobs are suspended and their pods end. No workload is admitted until stopPolicy is None.
    """
    for stop in stop_changes(change, frozenset({NONE, HOLD}), frozenset({DRAIN})):
        namespaces = sorted({pair.manifest.namespace for pair in stop.pairs} - {""})
        where = f" in {', '.join(namespaces)}" if namespaces else ""
        message = f"all running workloads{where} are evicted, and none is admitted, because of stopPolicy HoldAndDrain"
        predicts = stop.predictions("evicted")
        yield Raised(stop.subject, message, stop.pairs[0].after, ("spec", "stopPolicy"), (), predicts)
