from gpuc.diagnostics.words import counted
from gpuc.objects.object_set import group
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import chart_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import kinds_text


@impact("IMP513", Level.NONE, source="argo-cd v3.5.1 docs/user-guide/auto_sync.md, Automatic Retry with a limit")
def version_with_objects(change: Change) -> Impacts:
    """The version of a chart and objects of its kinds change in one commit.

    The root Application changes the version in the order of the sync waves. The Application of the objects exists and
    syncs at once, so the old version can get the new objects first. Argo CD tries refused objects again.
    """
    changed = [pair.after for pair in change.all_pairs if pair.after is not None and pair.fields]
    for chart in chart_changes(change):
        groups = _groups(change, chart.component)
        if found := [manifest for manifest in changed if group(manifest) in groups]:
            objects = counted(len(found), "object")
            message = f"the old version can get {objects} of this change before Argo CD installs {chart.after}"
            details = (
                f"objects: {kinds_text(found)}",
                "two changes instead, if the objects use a field of the new version: first the version, then them",
            )
            yield Raised(f"component {chart.component}", message, chart.application, chart.path, details)


def _groups(change: Change, component: str) -> set[str]:
    """Returns the API groups of the custom resources that a chart defines or that its programs read."""
    releases = [
        release
        for rows in change.after.objects.catalog.releases.values()
        for release in rows.values()
        if component in (release.component, release.crds_from)
    ]
    return {name for release in releases for name in release.groups}
