from gpuc.plan.change import Change
from gpuc.plan.chart_changes import changed_installations
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP524", Level.RESTRICTS, source="argo-cd v3.5.1 docs/user-guide/app_deletion.md, About The Deletion Finalizer"
)
def chart_handed_over(change: Change) -> Impacts:
    """Argo CD no longer installs the chart of a component, because another team does.

    The installed chart stays. Argo CD does not upgrade it and does not revert manual changes any more. The objects of
    gpuc rely on the Helm values in clusters/CLUSTER/values/.
    """
    for found in changed_installations(change):
        if found.after == "another team":
            name = change.after.name
            message = (
                f"chart {found.chart} stays in namespace {found.namespace} without Argo CD: another team has to "
                "install it with the values of gpuc"
            )
            details = (
                f"the values: clusters/{name}/values/{found.component}.yaml; the reasons: clusters/{name}/README.md",
                "its objects keep the annotation argocd.argoproj.io/tracking-id of the removed Application",
            )
            yield found.raised(change, message, details)
