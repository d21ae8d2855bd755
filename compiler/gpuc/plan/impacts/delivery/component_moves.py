from gpuc.cluster.project import project_of
from gpuc.plan.applications import component_of, kept_applications
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP512",
    Level.DISRUPTS,
    source="argo-cd v3.5.1 docs/user-guide/auto_sync.md, Automatic Pruning, Automatic Self-Healing; "
    "controller/state.go, CompareAppState; controller/cache/cache.go, GetManagedLiveObjs: objects of all namespaces",
)
def component_moves(change: Change) -> Impacts:
    """A component is installed in another namespace.

    Argo CD creates the namespaced objects of the chart in the new namespace, and changes cluster-scoped objects, such
    as webhooks, in place. It deletes the objects in the old namespace if the Application prunes and its AppProject
    permits the old namespace. Otherwise two controllers work on the same objects until a person deletes the old one.
    """
    for old, new in kept_applications(change):
        before, after = old.destination.namespace, new.destination.namespace
        if before != after and new.chart:
            component = component_of(change, new.name)
            fate = "deletes"
            details: tuple[str, ...] = ()
            project = project_of(change.after.objects, new)
            is_permitted = project is None or project.permits_destination(new.destination._replace(namespace=before))
            if not (new.prunes and is_permitted):
                fate = "leaves"
                details = (
                    f"after the sync, delete the namespaced objects of the chart in {before}, because two controllers "
                    "work until then; before the merge, Argo CD would create them again",
                )
            message = (
                f"moves from namespace {before} to {after}: Argo CD creates its objects in {after} and {fate} those in "
                f"{before}"
            )
            yield Raised(f"component {component}", message, new.manifest, ("spec", "destination", "namespace"), details)
