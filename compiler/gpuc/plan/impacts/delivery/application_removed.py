from gpuc.cluster.application import ARGO, application_in
from gpuc.plan.applications import chart_of
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import changed_installations
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP506", Level.RESTRICTS, source="argo-cd v3.5.1 docs/user-guide/app_deletion.md, About The Deletion Finalizer"
)
def application_removed(change: Change) -> Impacts:
    """An Application is removed, and what it has installed stays.

    The Applications of gpuc have no finalizer, so Argo CD deletes only the Application. A chart goes on running without
    updates. The objects of an Application with the finalizer resources-finalizer.argocd.argoproj.io do not stay: `gpuc
    diff` does not read finalizers. Other impacts describe the objects that the change removes from Git.
    """
    if change.is_removed:
        return
    described = {pair.name for pair in change.pairs(ARGO, "Application") if not pair.is_removed}
    described |= {found.pair.name for found in changed_installations(change) if found.after}
    described |= _described(change)
    for pair in change.pairs(ARGO, "Application"):
        if pair.is_removed and pair.name not in described:
            chart = chart_of(pair.before)
            what = f"chart {chart.chart} {chart.revision} stays" if chart else "its objects stay"
            message = f"the Application is removed, and {what} in the cluster"
            namespace = application_in(pair.manifest).destination.namespace
            removal = (
                f"the programs of the chart go on in namespace {namespace} and get no updates; to remove them: "
                f"helm template {chart.chart if chart else ''} with the values of the state before, and kubectl delete "
                "--filename -, without CustomResourceDefinitions that still have objects"
            )
            yield Raised(f"Application {pair.name}", message, pair.before, (), (removal,) if chart else ())


def _described(change: Change) -> set[str]:
    """Returns the Applications before the change whose objects are removed or move, which other impacts describe."""
    found = set()
    for pair in change.all_pairs:
        if pair.before and pair.before.api and (pair.is_removed or change.after.application_of(pair.manifest)):
            old = change.before.application_of(pair.before)
            found |= {old.name} if old else set()
    return found
