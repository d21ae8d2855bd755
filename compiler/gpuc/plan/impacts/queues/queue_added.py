from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import queues, quotas_text


@impact("IMP216", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/cache.go, AddClusterQueue")
def queue_added(change: Change) -> Impacts:
    """A queue is new.

    Its tenants can submit workloads to its LocalQueues. The other queues of its cohort can borrow its idle quota.
    """
    for name, pairs in queues(change).items():
        if all(pair.is_added for pair in pairs) and not change.is_new:
            quotas = quotas_text(change, pairs, after=True)
            yield Raised(f"queue {name}", f"is new, with quota: {quotas}", pairs[0].after)
