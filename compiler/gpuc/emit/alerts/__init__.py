"""Alerting rules as PromQL: those of the components, and those for metrics without which other alerts cannot fire."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import INSTANCE_TYPE_LABEL, POOL, Alert, alert
from gpuc.emit.component import by_section, needed_components
from gpuc.emit.substrate import substrate_output
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model import Cluster, once_for_each_cluster
from gpuc.model.names import POOL_LABEL


@once_for_each_cluster
def alerts_by_group(cluster: Cluster) -> dict[str, list[Alert]]:
    """Returns the alerts of a cluster by group. Each group is one file of the output."""
    found: dict[str, list[Alert]] = {}
    for component in by_section(needed_components(cluster)):
        for group, function in component.alerts.items():
            found.setdefault(group, []).extend(function(cluster))
    found.setdefault("nodes", []).extend(_missing_sources(cluster))
    return found


def alerts(cluster: Cluster) -> list[Alert]:
    """Returns all alerts of a cluster."""
    return [alert for group in alerts_by_group(cluster).values() for alert in group]


def node_labels(cluster: Cluster) -> list[str]:
    """Returns the node labels that kube-state-metrics must export because alerts use them."""
    components = needed_components(cluster)
    return [POOL_LABEL, *(label for component in components for label in component.alert_labels(cluster))]


def _missing_sources(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for metrics without which other alerts cannot fire.

    GpucTelemetryMissing and GpucAuditLate are the corresponding alerts for the DCGM exporter and Gatekeeper.
    """
    nodes = substrate_output(cluster).nodes_metric(cluster)
    used = f'{POOL}!=""'
    if INSTANCE_TYPE in node_labels(cluster):
        used += f',{INSTANCE_TYPE_LABEL}!=""'
    yield alert("GpucPoolLabelMissing", nodes=nodes, used=used)
    for component in needed_components(cluster):
        if component.monitor and component.monitor.build_metric:
            source, metric = component.name, component.monitor.build_metric
            namespace = component.release(cluster).namespace
            yield alert("GpucMetricsMissing", ("source", source), metric=metric, source=source, namespace=namespace)
