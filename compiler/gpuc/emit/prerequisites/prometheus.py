"""Prometheus: its operator, its selection of monitors, and kube-state-metrics."""

from __future__ import annotations

from gpuc.emit.alerts import alerts
from gpuc.emit.alerts.nodes import node_labels
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about Prometheus; None without the section observability."""
    settings = cluster.spec.observability
    if settings is None:
        return None
    used: set[str] = set().union(*(alert.metrics for alert in alerts(cluster)))
    state_metrics = sorted(metric for metric in used if metric.startswith("kube_"))
    section, labels = ("spec", "observability"), ",".join(node_labels(cluster))
    # The pods that scrape metrics have these labels; policies of tenants admit them.
    pods = ",".join(f"{key}={value}" for key, value in settings.prometheus.pods.items())
    namespace = settings.namespace
    rows: list[Row] = [
        ("definition/monitoring.coreos.com", section, {}),
        ("namespace", (*section, "namespace"), {"name": namespace}),
        (
            "prometheus",
            (*section, "prometheus"),
            {"name": settings.prometheus.release, "namespace": namespace, "pods": pods},
        ),
        ("kube-state-metrics", section, {"labels": labels}),
    ]
    return written(cluster, "prometheus", "Prometheus", rows, node_labels=labels, state_metrics=state_metrics)
