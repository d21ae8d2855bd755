from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import queue_name


@impact("IMP220", Level.DISRUPTS, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateQueueStatus")
def queue_inactive(change: Change) -> Impacts:
    """A queue becomes inactive, because an object that the queue names does not exist.

    Kueue admits no workload in an inactive ClusterQueue. Running workloads continue.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if pair.after is None:
            continue
        reason = _reason(change.after.objects, pair.after)
        if reason and not (pair.before and _reason(change.before.objects, pair.before)):
            message = f"is inactive and admits no workloads: {reason[0]}"
            name = queue_name(pair)
            predicts = (Prediction(f"queue {name}", "inactive"), Prediction(f"workloads of queue {name}", "waiting"))
            yield Raised(f"queue {name}", message, pair.after, reason[1], (), predicts)


def _reason(objects: ObjectSet, queue: Manifest) -> tuple[str, Path] | None:
    """Returns why a ClusterQueue is inactive, with a path in the ClusterQueue; None for an active ClusterQueue.

    A stopPolicy is not a reason: other impacts report it.

    Source: kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason
    """
    for g, group in items(dig(queue.body, "spec", "resourceGroups")):
        for f, row in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f, "name")
            flavor = objects.find(GROUP, "ResourceFlavor", str(dig(row, "name")))
            if flavor is None:
                return f"ResourceFlavor {dig(row, 'name')} does not exist", path
            topology = dig(flavor.body, "spec", "topologyName")
            if topology is not None and objects.find(GROUP, "Topology", str(topology)) is None:
                return f"Topology {topology} of flavor {flavor.name} does not exist", path
    checks: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    for c, check in items(dig(queue.body, *checks)):
        if objects.find(GROUP, "AdmissionCheck", str(dig(check, "name"))) is None:
            return f"AdmissionCheck {dig(check, 'name')} does not exist", (*checks, c)
    return None
