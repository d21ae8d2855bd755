from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.preemption import preemption_changes


@impact("IMP227", Level.RESTRICTS, source="kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go")
def preemption_narrows(change: Change) -> Impacts:
    """Kueue may preempt fewer running workloads for workloads of a queue.

    Workloads of the queue wait longer, until running workloads end.
    """
    yield from preemption_changes(change, wider=False)
