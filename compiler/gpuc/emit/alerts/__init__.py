"""Alerting rules for GPUs, nodes, capacity, queues and policies, as PromQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.emit.alerts.capacity import capacity_alerts
from gpuc.emit.alerts.gpus import gpu_alerts
from gpuc.emit.alerts.nodes import node_alerts
from gpuc.emit.alerts.queues import queue_alerts
from gpuc.emit.policy_facts import AUDIT_SECONDS
from gpuc.model import Cluster

LATE_SECONDS = 6 * AUDIT_SECONDS
"""An audit is late if the last one ended so long ago. One audit may last as long as the time between two audits."""


def _policy_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for policies that Gatekeeper does not enforce because of an error, and for a late audit."""
    if not cluster.policies:
        return
    yield alert("GpucPolicyBroken")
    yield alert(
        "GpucAuditLate",
        ended="gatekeeper_audit_last_run_end_time",
        seconds=LATE_SECONDS,
        late_minutes=LATE_SECONDS // 60,
        namespace=cluster.components["gatekeeper"].namespace,
    )


ALERTS_BY_GROUP: dict[str, Callable[[Cluster], Iterator[Alert]]] = {
    "gpu": gpu_alerts,
    "nodes": node_alerts,
    "capacity": capacity_alerts,
    "queues": queue_alerts,
    "policies": _policy_alerts,
}
"""The functions that yield the alerts of a group. Each group is one file of the output."""


def alerts(cluster: Cluster) -> list[Alert]:
    """Returns all alerts of a cluster."""
    return [found for group in ALERTS_BY_GROUP.values() for found in group(cluster)]
