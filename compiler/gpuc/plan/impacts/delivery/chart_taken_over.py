from gpuc.plan.change import Change
from gpuc.plan.chart_changes import changed_installations
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP525",
    Level.DISRUPTS,
    source="argo-cd v3.5.1 docs/user-guide/sync-options.md, Server-Side Apply, Fail the sync if a shared resource is "
    "found; docs/user-guide/helm.md; docs/user-guide/resource_tracking.md; util/argo/resource_tracking.go, GetAppName",
)
def chart_taken_over(change: Change) -> Impacts:
    """Argo CD installs the chart of a component that another team installed before.

    Argo CD takes over the objects that have the same names, with the version and values of gpuc, so programs whose pod
    template differs restart. With the sync option FailOnSharedResource, it does not take over objects of another
    Application, even if that Application is deleted, unless its Argo CD has an installation ID. With another release
    name or namespace, Argo CD installs the chart a second time: two controllers work on the same objects. Argo CD knows
    no Helm releases, so `helm list` still shows the old found.
    """
    for found in changed_installations(change):
        if found.before == "another team":
            message = (
                f"Argo CD installs chart {found.chart} in namespace {found.namespace}, where another team installed it "
                "before: objects with the same names get the values of gpuc, and programs whose pod template differs "
                "restart"
            )
            details = (
                "before the merge: the other team stops its own delivery of the chart",
                "if the other team used Argo CD, then remove the annotation argocd.argoproj.io/tracking-id from its "
                "objects; until then the sync fails",
                "an installation with another release name or namespace has to be removed first, without its "
                "CustomResourceDefinitions, because their deletion deletes all objects of their kinds",
            )
            yield found.raised(change, message, details)
