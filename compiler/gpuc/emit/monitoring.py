"""Monitoring: monitors that the charts do not provide, and alerting rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.alerts import Alert, capacity_alerts, gpu_alerts, policy_alerts, queue_alerts
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster

API = "monitoring.coreos.com/v1"
ORIGIN: Path = ("spec", "observability")

_ALERTS_BY_GROUP: dict[str, Callable[[Cluster], Iterator[Alert]]] = {
    "gpu": gpu_alerts,
    "capacity": capacity_alerts,
    "queues": queue_alerts,
    "policies": policy_alerts,
}


def monitoring(cluster: Cluster) -> Iterator[Artifact]:
    """Yields monitors of Kueue and Gatekeeper, and one PrometheusRule per group of alerts.

    The charts of Karpenter and the GPU Operator have their own monitors. The EFA plugin has no metrics.
    """
    yield _kueue(cluster)
    yield _gatekeeper(cluster)
    for group, alerts in _ALERTS_BY_GROUP.items():
        rules = [_rule(cluster, alert) for alert in alerts(cluster)]
        if rules:
            body: Body = {"spec": {"groups": [{"name": f"gpuc-{group}", "rules": rules}]}}
            yield _object(cluster, f"rules/{group}.yaml", "PrometheusRule", f"gpuc-{cluster.name}-{group}", body)


def _object(cluster: Cluster, file: str, kind: str, name: str, body: Body) -> Manifest:
    observability = cluster.spec.observability
    return Manifest(
        file=cluster.out(f"monitoring/{file}"),
        origin=ORIGIN,
        api=API,
        kind=kind,
        name=name,
        namespace=observability.namespace,
        labels={"release": observability.prometheus.release},
        annotations=wave(0),
        body=body,
    )


def _kueue(cluster: Cluster) -> Manifest:
    """Returns the ServiceMonitor of Kueue.

    Prometheus authenticates with the token of its service account, and does not verify the self-signed certificate.
    All Services of Kueue have the same labels and port name, so a relabeling selects the metrics Service by its name.
    """
    endpoint = {
        "port": "https",
        "scheme": "https",
        "path": "/metrics",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"insecureSkipVerify": True},
        "relabelings": [
            {
                "action": "keep",
                "sourceLabels": ["__meta_kubernetes_service_name"],
                "regex": "kueue-controller-manager-metrics-service",
            }
        ],
    }
    selector = {"matchLabels": {"app.kubernetes.io/name": "kueue"}}
    body = {"spec": {"endpoints": [endpoint], **_selected_namespace(cluster, "kueue"), "selector": selector}}
    return _object(cluster, "kueue.yaml", "ServiceMonitor", f"gpuc-{cluster.name}-kueue", body)


def _gatekeeper(cluster: Cluster) -> Manifest:
    """Returns the PodMonitor of Gatekeeper. No Service of Gatekeeper has the metrics port."""
    selector = {"matchLabels": {"gatekeeper.sh/system": "yes"}}
    body = {
        "spec": {
            "podMetricsEndpoints": [{"port": "metrics"}],
            **_selected_namespace(cluster, "gatekeeper"),
            "selector": selector,
        }
    }
    return _object(cluster, "gatekeeper.yaml", "PodMonitor", f"gpuc-{cluster.name}-gatekeeper", body)


def _selected_namespace(cluster: Cluster, component: str) -> Body:
    return {"namespaceSelector": {"matchNames": [cluster.components[component].namespace]}}


def _rule(cluster: Cluster, alert: Alert) -> Body:
    rule: Body = {"alert": alert.name, "expr": alert.expression}
    if alert.minutes:
        rule["for"] = f"{alert.minutes}m"
    if alert.keep_minutes:
        rule["keep_firing_for"] = f"{alert.keep_minutes}m"
    team = cluster.spec.observability.alerts.team
    rule["labels"] = {"cluster": cluster.name, "severity": alert.severity, "team": team, **dict(alert.labels)}
    rule["annotations"] = {"summary": alert.summary, "description": alert.action}
    return rule
