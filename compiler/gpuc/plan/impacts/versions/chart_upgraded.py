from gpuc.plan.change import Change
from gpuc.plan.chart_changes import chart_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP601",
    Level.RESTRICTS,
    source="kueue v0.19.2 charts/kueue/templates/manager/manager.yaml, image and config-checksum",
)
def chart_upgraded(change: Change) -> Impacts:
    """A chart gets a newer version.

    Argo CD applies the templates of the new version, and the programs of the component restart. A later revert of the
    commit does not restore old definitions of custom resources. Read the release notes of the new version.
    """
    for one in chart_changes(change):
        if not one.is_older:
            message = f"version {one.after} instead of {one.before}; {one.effect}"
            manifest, path = one.place(change)
            yield Raised(f"component {one.component}", message, manifest, path, one.details)
