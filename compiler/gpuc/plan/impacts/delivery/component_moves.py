from gpuc.plan.applications import GROUP, chart_source, component_of
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP512",
    Level.DISRUPTS,
    source="argo-cd v3.5 docs/user-guide/helm.md; helm v3 docs, releases belong to a namespace",
)
def component_moves(change: Change) -> Impacts:
    """A component is installed in another namespace.

    Argo CD installs the chart a second time in the new namespace. The old installation stays if the Application prunes
    nothing, and two controllers then work on the same objects.
    """
    for pair in change.pairs(GROUP, "Application"):
        before, after = pair.values("spec", "destination", "namespace")
        if pair.is_changed and before != after and chart_source(pair.after).chart:
            component = component_of(change, pair.name)
            message = f"moves from namespace {before} to namespace {after}: remove the old installation first"
            yield Raised(f"component {component}", message, pair.after, ("spec", "destination", "namespace"))
