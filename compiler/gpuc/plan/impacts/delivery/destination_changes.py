from gpuc.diagnostics.words import counted
from gpuc.plan.applications import cluster_name, cluster_subject, kept_applications
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
    kept = kept_applications(change)
    found = [(old, new) for old, new in kept if old.destination.cluster != new.destination.cluster]
    if found:
        application = found[0][1]
        old, new = (side.destination.cluster for side in found[0])
        count = len(change.before.objects.manifests)
        noun = f"{counted(len(found), 'Application')} deploy{'s' if len(found) == 1 else ''}"
        message = (
            f"{noun} to {new} instead of {old}: Argo CD installs everything there, and "
            f"leaves the {count} objects of the state before in {old}"
        )
        details = (
            f"if {new} is another name of the same cluster, nothing changes in the cluster",
            f"if it is another cluster, first follow clusters/{cluster_name(change)}/README.md there",
        )
        field = "server" if application.destination.server else "name"
        yield Raised(cluster_subject(change), message, application.manifest, ("spec", "destination", field), details)
