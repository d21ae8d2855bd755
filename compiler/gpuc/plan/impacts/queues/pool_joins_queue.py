from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, flavors, queues, quota_text


@impact("IMP210", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateQuotasAndResourceGroups")
def pool_joins_queue(change: Change) -> Impacts:
    """A queue that exists gets quota on another node pool.

    Kueue tries the workloads that wait in the queue again. Running workloads stay on their nodes.
    """
    for name, pairs in queues(change).items():
        for pair in pairs if not all(pair.is_added for pair in pairs) else ():
            known = flavors(change.before, pair.name)
            for flavor, added in flavors(change.after, pair.name).items():
                if flavor not in known:
                    quota = quota_text(change.after, pair.name, flavor)
                    message = f"gets quota on {flavor_text(change, flavor)}: {quota}"
                    yield Raised(f"queue {name}", message, pair.after, added.path)
