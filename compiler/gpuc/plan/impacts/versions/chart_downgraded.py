from gpuc.plan.change import Change
from gpuc.plan.chart_changes import chart_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP602",
    Level.DISRUPTS,
    source="kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning",
)
def chart_downgraded(change: Change) -> Impacts:
    """A chart gets an older version.

    Projects test upgrades, not downgrades. The older version may not know fields and versions of stored custom
    resources, and then fails to read them.
    """
    for one in chart_changes(change):
        if one.is_older:
            message = f"older version {one.after} instead of {one.before}; it may not read objects of the newer version"
            manifest, path = one.place(change)
            yield Raised(f"component {one.component}", message, manifest, path, one.details)
