from gpuc.plan.change import Change
from gpuc.plan.chart_changes import chart_changes
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP602",
    Level.DISRUPTS,
    source="k8s.io/apiextensions-apiserver v0.35.4 pkg/apis/apiextensions/validation/validation.go, "
    "ValidateCustomResourceDefinitionStoredVersions; argo-cd v3.5.1 util/helm/cmd.go, --include-crds",
)
def chart_downgraded(change: Change) -> Impacts:
    """A chart gets an older version.

    Projects test upgrades, not downgrades. Argo CD applies the old definitions of custom resources. The API server
    refuses a definition that lacks a stored version, and stored objects keep the form of the new version. The older
    version may not know their fields and versions, and then fails to read them.
    """
    for chart in chart_changes(change):
        if chart.is_older:
            yield chart.raised("older version", "it may not read objects of the newer version")
