from gpuc.cluster.application import ARGO, Application
from gpuc.plan.applications import cluster_name, cluster_subject
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP526",
    Level.DISRUPTS,
    source="argo-cd v3.5.1 controller/state.go, CompareAppState: GetManagedLiveObjs of the destination cluster",
)
def destination_changes(change: Change) -> Impacts:
    """The Applications deploy to another cluster.

    Argo CD installs everything in the new cluster. It does not look at the old cluster any more: nodes, workloads and
    controllers there go on, and no file describes them.
    """
    found = []
    for pair in change.pairs(ARGO, "Application"):
        if pair.before and pair.after and not pair.manifest.file.startswith("clusters/"):
            before, after = (Application(one).destination for one in (pair.before, pair.after))
            if before.cluster != after.cluster:
                found.append((pair, before.cluster, after))
    if found:
        pair, old, destination = found[0]
        new, count = destination.cluster, len(change.before.objects.manifests)
        noun = "1 Application deploys" if len(found) == 1 else f"{len(found)} Applications deploy"
        message = (
            f"{noun} to {new} instead of {old}: Argo CD installs everything there, and "
            f"leaves the {count} objects of the state before in {old}"
        )
        details = (
            f"if {new} is another name of the same cluster, nothing changes in the cluster",
            f"if it is another cluster, first follow clusters/{cluster_name(change)}/README.md there",
        )
        field = "server" if destination.server else "name"
        yield Raised(cluster_subject(change), message, pair.after, ("spec", "destination", field), details)
