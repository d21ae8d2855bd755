"""Monitoring: a monitor for each component with metrics, and alerting rules."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.alerts import ALERTS_BY_GROUP
from gpuc.emit.alerts.alert import Alert
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster
from gpuc.spec.platform import Observability

API = "monitoring.coreos.com/v1"
ORIGIN: Path = ("spec", "observability")


def monitoring(cluster: Cluster) -> Iterator[Artifact]:
    """Yields a monitor for each component with metrics, and one PrometheusRule per group of alerts.

    The charts create no monitors, so that the section `observability` changes no values. The EFA plugin has no metrics.
    """
    observability = cluster.spec.observability
    if observability is None:
        return
    yield _karpenter(cluster, observability)
    if cluster.gpu_pools:
        yield _gpu_operator(cluster, observability)
    if cluster.queues:
        yield _kueue(cluster, observability)
    if cluster.policies:
        yield _gatekeeper(cluster, observability)
    for group, alerts in ALERTS_BY_GROUP.items():
        rules = [_rule(cluster, observability, alert) for alert in alerts(cluster)]
        if rules:
            body: Body = {"spec": {"groups": [{"name": f"gpuc-{group}", "rules": rules}]}}
            yield _object(cluster, observability, f"rules/{group}", "PrometheusRule", group, body)


def _object(cluster: Cluster, observability: Observability, file: str, kind: str, subject: str, body: Body) -> Manifest:
    return Manifest(
        file=cluster.out(f"monitoring/{file}.yaml"),
        origin=ORIGIN,
        api=API,
        kind=kind,
        name=f"gpuc-{cluster.name}-{subject}",
        namespace=observability.namespace,
        labels={"release": observability.prometheus.release},
        annotations=wave(0),
        body=body,
    )


def _karpenter(cluster: Cluster, observability: Observability) -> Manifest:
    """Returns the ServiceMonitor of Karpenter.

    Source: aws/karpenter-provider-aws v1.14.1 charts/karpenter/templates/servicemonitor.yaml, service.yaml
    """
    selector = {"matchLabels": {"app.kubernetes.io/name": "karpenter"}}
    endpoint = {"port": "http-metrics", "path": "/metrics"}
    body = {"spec": {"endpoints": [endpoint], **_selected_namespace(cluster, "karpenter"), "selector": selector}}
    return _object(cluster, observability, "karpenter", "ServiceMonitor", "karpenter", body)


def _gpu_operator(cluster: Cluster, observability: Observability) -> Manifest:
    """Returns the ServiceMonitor of the DCGM exporter.

    Source: NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter (service, service monitor)
    """
    endpoint = {
        "port": "gpu-metrics",
        "path": "/metrics",
        "interval": "15s",
        "scrapeTimeout": "10s",
        # The labels namespace and pod name the pod that uses the GPU, not the exporter.
        "honorLabels": True,
    }
    body = {
        "spec": {
            "endpoints": [endpoint],
            "jobLabel": "app",
            **_selected_namespace(cluster, "gpu-operator"),
            "selector": {"matchLabels": {"app": "nvidia-dcgm-exporter"}},
        }
    }
    return _object(cluster, observability, "gpu-operator", "ServiceMonitor", "gpu-operator", body)


def _kueue(cluster: Cluster, observability: Observability) -> Manifest:
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
    return _object(cluster, observability, "kueue", "ServiceMonitor", "kueue", body)


def _gatekeeper(cluster: Cluster, observability: Observability) -> Manifest:
    """Returns the PodMonitor of Gatekeeper. No Service of Gatekeeper has the metrics port."""
    selector = {"matchLabels": {"gatekeeper.sh/system": "yes"}}
    body = {
        "spec": {
            "podMetricsEndpoints": [{"port": "metrics"}],
            **_selected_namespace(cluster, "gatekeeper"),
            "selector": selector,
        }
    }
    return _object(cluster, observability, "gatekeeper", "PodMonitor", "gatekeeper", body)


def _selected_namespace(cluster: Cluster, component: str) -> Body:
    return {"namespaceSelector": {"matchNames": [cluster.components[component].namespace]}}


def _rule(cluster: Cluster, observability: Observability, alert: Alert) -> Body:
    rule: Body = {"alert": alert.name, "expr": alert.expression}
    if alert.minutes:
        rule["for"] = f"{alert.minutes}m"
    if alert.keep_minutes:
        rule["keep_firing_for"] = f"{alert.keep_minutes}m"
    labels = {"cluster": cluster.name, "severity": alert.severity, "team": observability.alerts.team}
    rule["labels"] = {**labels, **dict(alert.labels)}
    rule["annotations"] = {"summary": f"{alert.loss} {alert.remedy}", "description": alert.details}
    return rule
