from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text


@impact(
    "IMP240",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go, tas_non_tas_pod_cache.go",
)
def topology_added(change: Change) -> Impacts:
    """Kueue starts to place the workloads of a flavor by topology.

    Kueue admits only workloads whose pods fit on nodes that run and are ready, in addition to the quota. Workloads that
    run continue, and Kueue counts their pods on their nodes.
    """
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        before, after = pair.values("spec", "topologyName")
        if pair.before and after and not before:
            message = f"Kueue places workloads by topology {after}: it admits only pods that fit on nodes that run"
            details = (
                "workloads that run continue; the topology of the flavor cannot be changed or removed later, because "
                "the field is immutable",
            )
            path = ("spec", "topologyName")
            yield Raised(flavor_text(change, pair.name), message, pair.after, path, details)
