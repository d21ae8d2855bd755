"""Alerting rules for GPUs, nodes, capacity, queues and policies, as PromQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.emit.alerts.alert import Alert
from gpuc.emit.alerts.capacity import capacity_alerts
from gpuc.emit.alerts.gpus import gpu_alerts
from gpuc.emit.alerts.nodes import node_alerts
from gpuc.emit.alerts.policies import policy_alerts
from gpuc.emit.alerts.queues import queue_alerts
from gpuc.model import Cluster

ALERTS_BY_GROUP: dict[str, Callable[[Cluster], Iterator[Alert]]] = {
    "gpu": gpu_alerts,
    "nodes": node_alerts,
    "capacity": capacity_alerts,
    "queues": queue_alerts,
    "policies": policy_alerts,
}
"""The functions that yield the alerts of a group. Each group is one file of the output."""


def alerts(cluster: Cluster) -> list[Alert]:
    """Returns all alerts of a cluster."""
    return [alert for group in ALERTS_BY_GROUP.values() for alert in group(cluster)]
