from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import GPU_PREFIXES, queue_name


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
    found: dict[tuple[str, ...], list[Pair]] = {}
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if pair.before and pair.after and (after := _resources(pair.after)):
            lost = tuple(name for name in _resources(pair.before) if name not in after)
            if lost:
                found.setdefault(lost, []).append(pair)
    for lost, pairs in found.items():
        names = list(dict.fromkeys(queue_name(pair) for pair in pairs))  # several ClusterQueues can be one queue
        subject = f"{'queue' if len(names) == 1 else 'queues'} {', '.join(names)}"
        message = (
            f"no workload that requests {' or '.join(lost)} is admitted any more: no pool of the queue has a quota"
        )
        predicts = tuple(Prediction(f"workloads of queue {name}", "waiting") for name in names)
        yield Raised(subject, message, pairs[0].after, ("spec", "resourceGroups"), (), predicts)


def _resources(queue: Manifest) -> list[str]:
    """Returns the resources other than GPUs that the resource groups of a ClusterQueue cover."""
    groups = [group for _, group in items(dig(queue.body, "spec", "resourceGroups"))]
    names = dict.fromkeys(str(name) for group in groups for _, name in items(dig(group, "coveredResources")))
    return [name for name in names if not name.startswith(GPU_PREFIXES)]
