from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.preemption import preemption_changes


@impact("IMP226", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go")
def preemption_widens(change: Change) -> Impacts:
    """Kueue may preempt more running workloads for workloads of a queue.

    A preempted workload is evicted: its pods end, and it waits in its queue again. Workloads that wait already can
    preempt as soon as the change is applied.
    """
    yield from preemption_changes(change, wider=True)
