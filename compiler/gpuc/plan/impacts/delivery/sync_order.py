from gpuc.plan.applications import changed_applications
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP510", Level.NONE, source="argo-cd v3.5 docs/user-guide/sync-waves.md; gpuc README, Argo CD Applications")
def sync_order(change: Change) -> Impacts:
    """Several Applications sync because of the change, in the order of their sync waves.

    Applications that exist sync by themselves as soon as Argo CD sees the commit, at the same time. The order of the
    waves applies to new and changed Applications. Until all have synced, the cluster has objects of both states.
    """
    if change.is_new:
        return
    found = list(changed_applications(change))
    if len(found) > 1:
        names = ", ".join(f"{one.name.removeprefix(f'{change.after.name}-')} ({one.wave})" for one in found)
        path = change.spec_changes[0].path if change.spec_changes else ()
        manifest = None if path else found[0].manifest
        yield Raised(f"cluster {change.after.name}", f"{len(found)} Applications sync: {names}", manifest, path)
