from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, is_less, loses, queue_name, quota_changes


@impact("IMP203", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, available")
def borrowing_shrinks(change: Change) -> Impacts:
    """A queue may borrow less quota on a node pool.

    Workloads that run with borrowed quota continue: Kueue evicts no workload because of a smaller limit. Kueue admits
    the next workload when the queue uses less than its nominal quota and the new limit together.
    """
    changes = quota_changes(change)
    for one in changes:
        if one.has_limits and is_less(one.after.borrow, one.before.borrow):
            instead = one.unit.instead(one.before.borrow, one.after.borrow)
            message = f"may borrow {instead} on {flavor_text(change, one.flavor)}"
            details = ("workloads that run with borrowed quota continue", *loses(change, [one]))
            yield Raised(
                f"queue {queue_name(one.pair)}", message, one.pair.after, (*one.path, "borrowingLimit"), details
            )
