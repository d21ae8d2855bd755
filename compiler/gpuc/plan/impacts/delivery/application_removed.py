from gpuc.plan.applications import GROUP, chart_source
from gpuc.plan.change import Change
from gpuc.plan.chart_installations import changed_installations
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP506",
    Level.RESTRICTS,
    source="argo-cd v3.5.1 docs/user-guide/app_deletion.md, About The Deletion Finalizer",
)
def application_removed(change: Change) -> Impacts:
    """An Application is removed, and what it has installed stays.

    The Applications of gpuc have no finalizer, so Argo CD deletes only the Application. A chart goes on running without
    updates. The objects of an Application with the finalizer resources-finalizer.argocd.argoproj.io do not stay: `gpuc
    diff` does not read finalizers.
    """
    if change.is_removed:
        return
    remaining = {pair.name for pair in change.pairs(GROUP, "Application") if not pair.is_removed}
    handed_over = {one.pair.name for one in changed_installations(change) if one.after}
    for pair in change.pairs(GROUP, "Application"):
        if pair.is_removed and pair.name not in remaining | handed_over:
            chart, version, *_ = chart_source(pair.before)
            what = f"chart {chart} {version} stays" if chart else "its objects stay"
            message = f"the Application is removed, and {what} in the cluster"
            namespace = pair.values("spec", "destination", "namespace")[0]
            details = (
                (
                    f"the programs of the chart go on in namespace {namespace} and get no updates; to remove them: "
                    f"helm template {chart} with the values of the state before, and kubectl delete --filename -, "
                    "without CustomResourceDefinitions that still have objects",
                )
                if chart
                else ()
            )
            yield Raised(f"Application {pair.name}", message, pair.before, (), details)
