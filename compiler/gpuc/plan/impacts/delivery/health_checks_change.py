from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP528", Level.NONE, source="argo-cd v3.5.1 docs/operator-manual/health.md, Custom Health Checks")
def health_checks_change(change: Change) -> Impacts:
    """The health checks change that an administrator installs as Helm values of Argo CD.

    Until then, Argo CD judges the health with the old checks: it can start a sync wave before the previous wave works.
    """
    file = f"clusters/{change.after.name}/argocd-health.yaml"
    before, after = change.before.texts.get(file), change.after.texts.get(file)
    if before and after and before != after:
        path = next(iter((*change.changed_paths("spec", "pools"), *change.changed_paths())), ())
        message = f"the health checks of Argo CD change: install {file} with the Helm chart of Argo CD"
        yield Raised(f"cluster {change.after.name}", message, path=path)
