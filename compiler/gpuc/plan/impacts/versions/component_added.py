from collections.abc import Iterator

from gpuc.plan.change import Change
from gpuc.plan.chart_changes import changed_installations
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP610", Level.NONE, source="the charts in catalog/releases.json, and the DaemonSets that they install")
def component_added(change: Change) -> Impacts:
    """The cluster needs another component, so Argo CD installs its chart.

    The DaemonSets of the chart take resources of the nodes that they select, also of nodes that run.
    """
    for found in changed_installations(change):
        if not found.before:
            message = f"Argo CD installs chart {found.chart} in namespace {found.namespace}"
            values = change.values_of(found.component)
            manifest = (values.after if values else None) or found.pair.after
            agents = tuple(_node_agents(change, found.component))
            yield Raised(f"component {found.component}", message, manifest, (), agents)


def _node_agents(change: Change, component: str) -> Iterator[str]:
    """Yields a sentence for each DaemonSet of the component."""
    catalog = change.after.cluster.catalog if change.after.cluster else None
    for row in catalog.daemonsets if catalog else ():
        if row.component == component:
            nodes = "all nodes" if row.nodes == "all" else f"nodes with {row.nodes.upper()}"
            requests = f"{row.cpu_milli}m CPU and {row.memory_mib}Mi memory"
            yield f"DaemonSet {row.name} requests {requests} on {nodes}"
