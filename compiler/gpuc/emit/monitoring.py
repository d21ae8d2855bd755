"""Monitoring: what the charts do not let Prometheus find by themselves, and the alerts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.alerts import Alert, capacity_alerts, gpu_alerts, policy_alerts, queue_alerts
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster

API = "monitoring.coreos.com/v1"
ORIGIN: Path = ("spec", "observability")

_SUBJECTS: dict[str, Callable[[Cluster], Iterator[Alert]]] = {
    "gpu": gpu_alerts,
    "capacity": capacity_alerts,
    "queues": queue_alerts,
    "policies": policy_alerts,
}


def monitoring(cluster: Cluster) -> Iterator[Artifact]:
    """Monitors of Kueue and Gatekeeper, and one PrometheusRule per subject.

    Karpenter's and the DCGM exporter's monitors come with their charts; the EFA plugin has no metrics.
    """
    yield _kueue(cluster)
    yield _gatekeeper(cluster)
    for subject, alerts in _SUBJECTS.items():
        rules = [_rule(cluster, alert) for alert in alerts(cluster)]
        if rules:
            body: Body = {"spec": {"groups": [{"name": f"gpuc-{subject}", "rules": rules}]}}
            yield _object(cluster, f"rules/{subject}.yaml", "PrometheusRule", f"gpuc-{cluster.name}-{subject}", body)


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
    """The metrics port asks who calls: Prometheus shows its own token. The certificate is Kueue's own.

    Kueue's services share labels and a port name, so only the name tells which of them serves metrics.
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
    body = {"spec": {"endpoints": [endpoint], **_where(cluster, "kueue"), "selector": selector}}
    return _object(cluster, "kueue.yaml", "ServiceMonitor", f"gpuc-{cluster.name}-kueue", body)


def _gatekeeper(cluster: Cluster) -> Manifest:
    """By pod: none of Gatekeeper's services has the metrics port."""
    selector = {"matchLabels": {"gatekeeper.sh/system": "yes"}}
    body = {
        "spec": {"podMetricsEndpoints": [{"port": "metrics"}], **_where(cluster, "gatekeeper"), "selector": selector}
    }
    return _object(cluster, "gatekeeper.yaml", "PodMonitor", f"gpuc-{cluster.name}-gatekeeper", body)


def _where(cluster: Cluster, component: str) -> Body:
    return {"namespaceSelector": {"matchNames": [cluster.components[component].namespace]}}


def _rule(cluster: Cluster, alert: Alert) -> Body:
    rule: Body = {"alert": alert.name, "expr": alert.expression}
    if alert.minutes:
        rule["for"] = f"{alert.minutes}m"
    if alert.keep_minutes:
        rule["keep_firing_for"] = f"{alert.keep_minutes}m"
    team = cluster.spec.observability.alerts.team
    rule["labels"] = {"cluster": cluster.name, "severity": alert.severity, "team": team, **dict(alert.labels)}
    rule["annotations"] = {"summary": alert.summary}
    return rule
