from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP237", Level.DISRUPTS, source="kueue v0.19.2 pkg/controller/core/workloadpriorityclass_controller.go")
def priority_order_changes(change: Change) -> Impacts:
    """A priority class gets a value with which workloads are ordered in another way.

    Kueue writes the new value into all Workloads of the class, also those that wait or run. Workloads that wait can
    then preempt running workloads that had the same or a higher priority before.
    """
    kept = list(change.kept(GROUP, "WorkloadPriorityClass"))
    for pair in kept:
        before, after = pair.values("value")
        if not _is_number(before) or not _is_number(after) or before == after:
            continue
        raised = [*_passed(pair, kept), *_without_class(before, after)]
        message = f"the priority of its workloads, also of those that run, changes from {before} to {after}"
        if raised:
            order = f"it is {'now above' if after > before else 'no longer above'} {', '.join(raised)}"
            yield Raised(f"priority {pair.name}", f"{message}; {order}", pair.after, ("value",))


def _passed(pair: Pair, pairs: list[Pair]) -> list[str]:
    """Returns the other classes to which the order of a class changes."""
    before, after = pair.values("value")
    found = []
    for other in pairs:
        old, new = other.values("value")
        if other is not pair and _is_number(old) and _is_number(new) and (before > old) != (after > new):
            found.append(other.name)
    return found


def _without_class(before: int, after: int) -> list[str]:
    """Returns the workloads without a priority class, if the order to their priority 0 changes."""
    return ["workloads without a priority class"] if (before > 0) != (after > 0) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int)
