"""The rules for Prometheus: alerting rules and recording rules, of components and of gpuc itself."""

from collections.abc import Iterator
from pathlib import Path

from gpuc.emit.alerts.alert import INSTANCE_TYPE_LABEL, POOL, Alert, Record, Rule, alert, fact, records
from gpuc.emit.component import by_section, needed_components
from gpuc.emit.substrate import substrate_output
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model import Cluster, once_for_each_cluster
from gpuc.model.names import POOL_LABEL


@once_for_each_cluster
def rules_by_group(cluster: Cluster) -> dict[str, list[Rule]]:
    """Returns the rules of a cluster by group. Each group is one file of the output.

    Prometheus evaluates the rules of a group in their order. So a recording rule comes after the recording rules whose
    series it reads. The rules that record values of the spec are an exception: they come last. `gpuc plan` compares
    rules by their index, so a rule for a new namespace or pool must not move all other rules. Because of this order,
    the other recording rules find no values of the spec in the first evaluation.
    """
    recorded: list[Rule] = list(records(Path(__file__).parent))
    for component in needed_components(cluster):
        if "records" in component.alerts:
            recorded.extend(component.alerts["records"](cluster))
    recorded.extend(_facts(cluster))
    found: dict[str, list[Rule]] = {"records": sorted(recorded, key=lambda rule: rule.expression.startswith("vector("))}
    for component in by_section(needed_components(cluster)):
        for group, function in component.alerts.items():
            if group != "records":
                found.setdefault(group, []).extend(function(cluster))
    found.setdefault("nodes", []).extend((*substrate_output(cluster).alerts(cluster), *_missing_sources(cluster)))
    return found


def alerts(cluster: Cluster) -> list[Alert]:
    """Returns the alerting rules of a cluster, without the recording rules."""
    return [rule for group in rules_by_group(cluster).values() for rule in group if isinstance(rule, Alert)]


@once_for_each_cluster
def metrics(cluster: Cluster) -> dict[str, frozenset[str]]:
    """Returns the metrics that each alert needs, by the name of the alert.

    If an alert reads a recorded series, the result has the metrics from which Prometheus computes the series.
    """
    sources: dict[str, frozenset[str]] = {}
    found: dict[str, frozenset[str]] = {}
    for rules in rules_by_group(cluster).values():
        for reads, rule in sorted(((rule.reads, rule) for rule in rules), key=lambda row: bool(row[0])):
            needed = frozenset().union(*(sources.get(name, {name}) for name in reads))
            table = sources if isinstance(rule, Record) else found
            table[rule.name] = table.get(rule.name, frozenset()) | needed
    return found


def node_labels(cluster: Cluster) -> list[str]:
    """Returns the node labels that kube-state-metrics must export because alerts use them."""
    components = needed_components(cluster)
    of_components = (label for component in components for label in component.alert_labels(cluster))
    return [POOL_LABEL, *substrate_output(cluster).alert_labels(cluster), *of_components]


def _facts(cluster: Cluster) -> Iterator[Record]:
    """Yields the facts of the spec as series: the use of each pool, and the tenant of each namespace.

    The value of gpuc:pool:info is the number of GPUs of the smallest node.
    """
    for pool in cluster.pools:
        yield fact("gpuc:pool:info", pool.gpus_per_node, pool=pool.name, purpose=pool.spec.purpose)
    for tenant, namespace in cluster.namespaces:
        labels = {"namespace": namespace.name, "tenant": tenant.name, "cost_centre": tenant.spec.cost_centre}
        yield fact("gpuc:namespace:info", **labels)


def _missing_sources(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for missing metrics: without these metrics, other alerts cannot fire.

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
