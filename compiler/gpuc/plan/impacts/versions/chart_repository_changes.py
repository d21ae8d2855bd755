from gpuc.plan.applications import component_of, kept_applications
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
    for before, after in kept_applications(change):
        old, new = before.chart, after.chart
        if old and new and old.url != new.url:
            message = (
                f"Argo CD reads chart {new.chart} {new.revision} from {new.url} instead of {old.url}; "
                "without the version there, or without credentials, the sync fails"
            )
            subject = f"component {component_of(change, after.name)}"
            yield Raised(subject, message, after.manifest, (*new.path, "repoURL"))
