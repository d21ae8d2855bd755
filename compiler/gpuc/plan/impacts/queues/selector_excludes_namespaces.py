from gpuc.cluster.queue import from_objects
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import selector
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import queue_name
from gpuc.plan.state import State


@impact("IMP241", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/scheduler.go, nominate: ValidateAdmissibility")
def selector_excludes_namespaces(change: Change) -> Impacts:
    """A queue does not accept namespaces any more that keep their LocalQueues.

    Workloads that wait in these namespaces, and new ones, are not admitted. Running workloads continue.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if not pair.before or not pair.after or not pair.changes("spec", "namespaceSelector"):
            continue
        before, after = _accepted(change.before, pair.before), _accepted(change.after, pair.after)
        excluded = [name for name, is_accepted in after.items() if not is_accepted and before.get(name)]
        if excluded:
            message = f"accepts no workloads of {', '.join(excluded)} any more, although they keep their LocalQueues"
            predicts = tuple(Prediction(f"workloads of namespace {name}", "waiting") for name in excluded)
            path = next(field.path for field in pair.fields if field.is_below("spec", "namespaceSelector"))
            yield Raised(f"queue {queue_name(pair)}", message, pair.after, path, (), predicts)


def _accepted(state: State, queue: Manifest) -> dict[str, bool]:
    """Returns the namespaces with a LocalQueue of a ClusterQueue, and whether its selector matches the namespace."""
    selected, labels = selector(dig(queue.body, "spec", "namespaceSelector")), state.objects.namespaces
    local_queues = from_objects(state.objects).local_queues.get(queue.name, [])
    names = dict.fromkeys(local.namespace for local in local_queues)
    return {name: matches(selected, labels[name]) for name in names if name in labels}
