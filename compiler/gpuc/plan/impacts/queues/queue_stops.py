from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.queue_ends import DRAIN, HOLD, NONE, stop_changes


@impact(
    "IMP217",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/core/workload_controller.go, reconcileOnLocalQueueActiveState",
)
def queue_stops(change: Change) -> Impacts:
    """A queue admits no new workloads any more, because the queue, its tenant or its namespace is leaving.

    Running workloads continue. Workloads that wait, and workloads that Kueue evicts, stay suspended.
    """
    for stop in stop_changes(change, frozenset({NONE, DRAIN}), frozenset({HOLD})):
        namespaces = sorted({pair.manifest.namespace for pair in stop.pairs} - {""})
        where = f" in {', '.join(namespaces)}" if namespaces and not stop.subject.startswith("namespace") else ""
        first = stop.pairs[0]
        yield Raised(
            stop.subject,
            f"no new workload is admitted{where}; running workloads continue",
            first.after,
            ("spec", "stopPolicy"),
            ("workloads that wait, and workloads that Kueue evicts, stay suspended",),
            stop.predictions("waiting"),
        )
