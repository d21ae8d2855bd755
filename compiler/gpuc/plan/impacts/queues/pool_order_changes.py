from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavors, queue_name


@impact(
    "IMP211", Level.NONE, source="kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, findFlavorForPodSets"
)
def pool_order_changes(change: Change) -> Impacts:
    """A queue tries its node pools in another order.

    New workloads start on other pools than before. Running workloads stay on their nodes.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = flavors(change.before, pair.name), flavors(change.after, pair.name)
        old = [name for name in before if name in after]
        new = [name for name in after if name in before]
        if old != new:
            message = f"new workloads try the node pools in the order {', '.join(after)} instead of {', '.join(before)}"
            origin = pair.manifest.origin
            manifest, path = (None, (*origin, "quota")) if origin else (pair.after, ("spec", "resourceGroups"))
            yield Raised(f"queue {queue_name(pair)}", message, manifest, path)
