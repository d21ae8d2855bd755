from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.preemption import preemption_changes


@impact("IMP227", Level.RESTRICTS, source="kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go")
def preemption_narrows(change: Change) -> Impacts:
    """Kueue may preempt fewer running workloads for workloads of a queue.

    Workloads of the queue wait longer, until running workloads end.
    """
    for one in preemption_changes(change):
        if not one.is_wider:
            yield Raised(f"queue {one.queue}", f"{one.text}: {one.effect}", one.pair.after, one.path)
