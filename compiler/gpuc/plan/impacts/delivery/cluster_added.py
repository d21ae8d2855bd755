from gpuc.cluster.application import ARGO
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP520", Level.NONE, source="argo-cd v3.5.1 docs/operator-manual/cluster-bootstrapping.md, App Of Apps Pattern"
)
def cluster_added(change: Change) -> Impacts:
    """A cluster is added, and Argo CD does not know it until an administrator applies two objects.

    These are the AppProject and the root Application of the cluster. Then Argo CD creates the other Applications in
    the order of their sync waves.
    """
    if not change.is_new or not change.after.first_sync:
        return
    name = change.after.name
    found = change.after.applications
    charts = [application.chart.chart for application in found if application.chart]
    projects = [project for project in change.after.objects.of(ARGO, "AppProject") if project.name == name]
    files = dict.fromkeys(manifest.file for manifest in (*projects, *change.after.first_sync))
    message = (
        "Argo CD syncs nothing until an administrator applies the AppProject and the root Application; then Argo CD "
        f"creates {len(found)} Applications, which install {len(charts)} charts"
    )
    if old := change.other_name:
        message = (
            f"is the new name of cluster {old}, with the same EKS cluster: when an administrator applies the "
            "AppProject and the root Application, its Applications take over the objects that run there"
        )
    details = (
        f"clusters/{name}/README.md has the steps before the first sync",
        f"the objects to apply: {', '.join(files)}",
        f"charts: {', '.join(charts)}",
    )
    yield Raised(f"cluster {name}", message, change.after.first_sync[0], (), details)
