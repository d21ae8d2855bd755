from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import moved_objects


@impact(
    "IMP522",
    Level.RESTRICTS,
    source="argo-cd v3.5.1 controller/sync.go, FailOnSharedResource; controller/state.go, CompareAppState",
)
def object_stays_with_application(change: Change) -> Impacts:
    """An object moves to another Application, but its old Application does not release it.

    The annotation argocd.argoproj.io/tracking-id names the old Application, also after the removal of this Application.
    With the sync option FailOnSharedResource, the sync of the new Application fails until a person removes the
    annotation.
    """
    for moved in moved_objects(change):
        if moved.reason:
            message = (
                f"moves from Application {moved.old} to {moved.new}, whose sync fails, because the object in the "
                f"cluster belongs to {moved.old}: {moved.reason}"
            )
            manifest = moved.manifest
            place = f"--namespace {manifest.namespace} " if manifest.namespace else ""
            command = f"kubectl annotate {place}{manifest.kind.lower()} {manifest.name} argocd.argoproj.io/tracking-id-"
            yield Raised(str(manifest), message, manifest, (), (f"after the change: {command}",))
