from gpuc.plan.applications import GROUP, chart_version
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP506", Level.RESTRICTS, source="argo-cd v3.5 docs/user-guide/app_deletion.md, About The Deletion Finalizer")
def application_removed(change: Change) -> Impacts:
    """An Application is removed, and what it has installed stays.

    The Applications of gpuc have no finalizer, so Argo CD deletes only the Application. A chart goes on running without
    updates.
    """
    if change.is_removed:
        return
    for pair in change.pairs(GROUP, "Application"):
        if pair.is_removed:
            chart, version = chart_version(pair.before)
            what = f"chart {chart} {version} stays" if chart else "its objects stay"
            message = f"the Application is removed, and {what} in the cluster"
            yield Raised(f"Application {pair.name}", message, pair.before)
