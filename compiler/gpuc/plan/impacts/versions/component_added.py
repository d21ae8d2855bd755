from collections.abc import Iterator

from gpuc.plan.change import Change
from gpuc.plan.chart_installations import Installation, changed_installations
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP610", Level.NONE, source="the charts in catalog/releases.json, and the DaemonSets that they install")
def component_added(change: Change) -> Impacts:
    """The cluster needs another component, so Argo CD installs its chart.

    The DaemonSets of the chart take resources of the nodes that they select, also of nodes that run.
    """
    for one in changed_installations(change):
        if not one.before:
            message = f"Argo CD installs chart {one.chart} in namespace {one.namespace}"
            values = next((state for state in change.after.values if state.name == one.component), one.pair.after)
            yield Raised(f"component {one.component}", message, values, (), tuple(_node_agents(change, one)))


def _node_agents(change: Change, one: Installation) -> Iterator[str]:
    """Yields a sentence for each DaemonSet of the component."""
    catalog = change.after.cluster.catalog if change.after.cluster else None
    for row in catalog.daemonsets if catalog else ():
        if row.component == one.component:
            nodes = "all nodes" if row.nodes == "all" else f"nodes with {row.nodes.upper()}"
            requests = f"{row.cpu_milli}m CPU and {row.memory_mib}Mi memory"
            yield f"DaemonSet {row.name} requests {requests} on {nodes}"
