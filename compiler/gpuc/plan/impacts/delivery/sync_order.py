from gpuc.cluster.application import Application
from gpuc.manifest.manifest import Manifest
from gpuc.plan.applications import cluster_subject
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP510",
    Level.NONE,
    source="argo-cd v3.5.1 docs/user-guide/sync-waves.md, How sync waves work?; "
    "docs/operator-manual/health.md, Argocd App",
)
def sync_order(change: Change) -> Impacts:
    """Several Applications are new, and the root Application creates them in the order of their sync waves.

    The root Application creates the Applications of a wave when all Applications of earlier waves are healthy. The
    order does not apply to Applications that exist: each of them syncs its own objects as soon as Argo CD sees the
    commit.
    """
    if change.is_new:
        return
    found = [
        application for application in change.after.applications if not change.before.application(application.name)
    ]
    if len(found) > 1:
        prefix = f"{change.after.name}-"
        names = ", ".join(f"{added.name.removeprefix(prefix)} ({added.wave})" for added in found)
        message = f"Argo CD creates {len(found)} Applications in the order of their sync waves: {names}"
        details = (
            "a wave starts when all Applications of earlier waves are healthy",
            "Applications that exist sync their objects at once, without this order",
        )
        yield Raised(cluster_subject(change), message, _first_object(change, found), (), details)


def _first_object(change: Change, added: list[Application]) -> Manifest:
    """Returns an object of the new Applications, whose cause in the spec is more exact than that of an Application."""
    for pair in change.all_pairs:
        if pair.is_added and change.after.application_of(pair.manifest) in added:
            return pair.manifest
    return added[0].manifest
