from gpuc.plan.change import Change
from gpuc.plan.chart_changes import chart_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP601", Level.RESTRICTS, source="the charts in catalog/releases.json")
def chart_upgraded(change: Change) -> Impacts:
    """A chart gets a newer version.

    Argo CD applies the templates of the new version, and the programs of the component restart. Kueue admits nothing
    and Karpenter starts no node while they restart; the webhooks of Kueue and Gatekeeper can refuse requests for some
    seconds. Read the release notes of the new version.
    """
    for one in chart_changes(change):
        if not one.is_older:
            message = f"version {one.after} instead of {one.before}; its programs restart"
            yield Raised(f"component {one.component}", message, one.pair.after, one.path, one.details)
