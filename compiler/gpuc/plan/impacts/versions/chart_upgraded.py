from gpuc.plan.change import Change
from gpuc.plan.chart_changes import chart_changes
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP601",
    Level.RESTRICTS,
    source="kueue v0.19.2 charts/kueue/templates/manager/manager.yaml, image and config-checksum; "
    "argo-cd v3.5.1 util/helm/cmd.go, --include-crds",
)
def chart_upgraded(change: Change) -> Impacts:
    """A chart gets a newer version.

    Argo CD applies the templates of the new version, and the programs of the component restart. A revert applies the
    old definitions of custom resources again. The API server refuses a definition that lacks a stored version, and
    stored objects keep the form of the new version. Read the release notes of the new version.
    """
    for chart in chart_changes(change):
        if not chart.is_older:
            yield chart.raised("version", chart.effect)
