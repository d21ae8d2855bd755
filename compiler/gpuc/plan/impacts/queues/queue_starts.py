from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.queue_ends import DRAIN, HOLD, NONE, stop_changes


@impact("IMP219", Level.NONE, source="kueue v0.19.2 pkg/controller/core/localqueue_controller.go, Update")
def queue_starts(change: Change) -> Impacts:
    """A queue admits workloads again, because the queue, its tenant or its namespace is not leaving any more.

    Kueue tries the workloads that wait in the queue.
    """
    for stop in stop_changes(change, frozenset({HOLD, DRAIN}), frozenset({NONE})):
        yield Raised(stop.subject, "workloads are admitted again", stop.pairs[0].after, ("spec", "stopPolicy"))
