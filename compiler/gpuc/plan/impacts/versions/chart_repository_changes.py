from gpuc.plan.applications import GROUP, chart_source, component_of
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP605", Level.RESTRICTS, source="argo-cd v3.5.1 docs/user-guide/helm.md; docs/user-guide/private-repositories.md"
)
def chart_repository_changes(change: Change) -> Impacts:
    """A chart comes from another repository, for example from a mirror.

    The sync fails if the repository does not have the version or if Argo CD has no credentials for the repository. The
    programs of the component run on until then, and do not restart if the chart is the same.
    """
    for pair in change.pairs(GROUP, "Application"):
        old, new = chart_source(pair.before), chart_source(pair.after)
        if old.chart and new.chart and old.repository != new.repository:
            message = (
                f"Argo CD reads chart {new.chart} {new.version} from {new.repository} instead of {old.repository}; "
                "without the version there, or without credentials, the sync fails"
            )
            yield Raised(f"component {component_of(change, pair.name)}", message, pair.after, (*new.path, "repoURL"))
