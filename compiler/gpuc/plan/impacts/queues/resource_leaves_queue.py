from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import GPU_PREFIXES, queue_name, tree


@impact(
    "IMP243",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, findFlavorForPodSets",
)
def resource_leaves_queue(change: Change) -> Impacts:
    """Queues no longer have a quota of a resource on any node pool, for example because their pools lose EFA.

    Kueue admits no workload that requests a resource without a quota, so these workloads wait until they are changed.
    Running workloads continue. Other impacts describe quotas of GPUs.
    """
    for lost, pairs in grouped(change.kept(GROUP, "ClusterQueue"), lambda pair: _lost(change, pair.name)).items():
        if not lost:
            continue
        names = list(dict.fromkeys(queue_name(pair) for pair in pairs))  # several ClusterQueues can be one queue
        message = (
            f"no workload that requests {' or '.join(lost)} is admitted any more: no pool of the queue has a quota"
        )
        predicts = tuple(Prediction(f"workloads of queue {name}", "waiting") for name in names)
        yield Raised(kind_of(names, "queue"), message, pairs[0].after, ("spec", "resourceGroups"), (), predicts)


def _lost(change: Change, name: str) -> tuple[str, ...]:
    """Returns the resources other than GPUs that the resource groups of a ClusterQueue do not cover any more."""
    before, after = (dict.fromkeys(tree(state)[name].covered) for state in (change.before, change.after))
    is_used = any(not name.startswith(GPU_PREFIXES) for name in after)
    return tuple(name for name in before if is_used and name not in after and not name.startswith(GPU_PREFIXES))
