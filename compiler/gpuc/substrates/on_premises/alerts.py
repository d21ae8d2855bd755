"""Alerts about existing nodes: missing nodes, spares in use, and nodes without the labels of their NodeFeatureRule."""

from collections.abc import Iterator
from typing import Any

from gpuc.emit.alerts.alert import POOL, Alert, alert, any_of
from gpuc.model import Cluster, Pool
from gpuc.model.names import PROVEN_LABEL
from gpuc.substrates.on_premises.section import by_rack, machines

_RULES = "nfd.k8s-sigs.io"
"""The API group of the rules of nodes. The chart with this group runs the program that applies the rules."""
_READY = 'kube_node_status_condition{condition="Ready",status="true"} == 1'


def alert_labels(cluster: Cluster) -> tuple[str, ...]:
    """Returns the keys of the node labels that alerts show: the rack, and the server type if the hardware proves it."""
    levels = {pool.level_labels.get("rack", "") for pool in cluster.pools}
    proven = any(pool.instances[0].dmi_product for pool in cluster.pools)
    return (*sorted(levels - {""}), *([PROVEN_LABEL] if proven else []))


def node_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alerts about the nodes of each pool.

    Source: kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md
    """
    for pool in cluster.pools:
        section, label = machines(pool.spec), ("pool", pool.name)
        excluded = f',node!~"{any_of(section.excluded)}"' if section.excluded else ""
        count = f'count(kube_node_labels{{{POOL}="{pool.name}"{excluded}}} and on (node) {_READY}) or vector(0)'
        texts: dict[str, Any] = {
            "pool": pool.name,
            "ready": f"({count})",
            "promised": pool.promised_nodes,
            "existing": pool.nodes_max,
        }
        yield alert("GpucInventoryMissing", label, **texts)
        if pool.spares:
            yield alert("GpucSparesInUse", label, **texts)
        for release in (row for row in cluster.components.values() if _RULES in row.groups):
            texts |= {"nodes": any_of(section.nodes), "expected": _expected(cluster, pool)}
            yield alert("GpucNodeDrift", label, **texts, namespace=release.namespace)


def _expected(cluster: Cluster, pool: Pool) -> str:
    """Returns PromQL for the nodes that have the labels of the rule of the pool."""
    server, rack_label = pool.instances[0], pool.level_labels.get("rack", "")
    labels = [f'{POOL}="{pool.name}"', *([f'{_metric(PROVEN_LABEL)}="{server.type}"'] if server.dmi_product else [])]
    if not rack_label:
        return f"kube_node_labels{{{','.join(labels)}}}"
    nodes = by_rack(cluster.spec.cloud, machines(pool.spec).nodes)
    selectors = (
        [*labels, f'{_metric(rack_label)}="{rack}"', f'node=~"{any_of(names)}"'] for rack, names in nodes.items()
    )
    return " or ".join(f"kube_node_labels{{{','.join(selector)}}}" for selector in selectors)


def _metric(label: str) -> str:
    """Returns the name of a node label in the metric kube_node_labels."""
    return "label_" + "".join(char if char.isalnum() else "_" for char in label)
