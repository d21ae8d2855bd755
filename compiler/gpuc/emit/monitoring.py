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
_KARPENTER: Body = {"endpoints": [{"port": "http-metrics", "path": "/metrics"}]}
"""Source: aws/karpenter-provider-aws v1.14.1 charts/karpenter/templates/servicemonitor.yaml, service.yaml"""
_DCGM_EXPORTER: Body = {
    "endpoints": [
        {
            "port": "gpu-metrics",
            "path": "/metrics",
            "interval": "15s",
            "scrapeTimeout": "10s",
            # The labels namespace and pod name the pod that uses the GPU, not the exporter.
            "honorLabels": True,
        }
    ],
    "jobLabel": "app",
}
"""Source: NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter (service, service monitor)"""
_KUEUE: Body = {
    "endpoints": [
        {
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
    ]
}
"""Prometheus authenticates with the token of its service account, and does not verify the self-signed certificate.

All Services of Kueue have the same labels and port name, so a relabeling selects the metrics Service by its name.
"""
_GATEKEEPER: Body = {"podMetricsEndpoints": [{"port": "metrics"}]}
"""No Service of Gatekeeper has the metrics port."""


def monitoring(cluster: Cluster) -> Iterator[Artifact]:
    """Yields a monitor for each component with metrics, and one PrometheusRule per group of alerts.

    The charts create no monitors, so that the section `observability` changes no values. The EFA plugin has no metrics.
    """
    observability = cluster.spec.observability
    if observability is None:
        return
    label = "app.kubernetes.io/name"
    yield _monitor(cluster, observability, "karpenter", _KARPENTER, {label: "karpenter"})
    if cluster.gpu_pools:
        yield _monitor(cluster, observability, "gpu-operator", _DCGM_EXPORTER, {"app": "nvidia-dcgm-exporter"})
    if cluster.queues:
        yield _monitor(cluster, observability, "kueue", _KUEUE, {label: "kueue"})
    if cluster.policies:
        yield _monitor(cluster, observability, "gatekeeper", _GATEKEEPER, {"gatekeeper.sh/system": "yes"}, "PodMonitor")
    for group, alerts in ALERTS_BY_GROUP.items():
        rules = [_rule(cluster, observability, alert) for alert in alerts(cluster)]
        if rules:
            spec = {"groups": [{"name": f"gpuc-{group}", "rules": rules}]}
            yield _object(cluster, observability, f"rules/{group}", "PrometheusRule", group, spec)


def _monitor(
    cluster: Cluster, observability: Observability, component: str, endpoints: Body, labels: dict[str, str],
    kind: str = "ServiceMonitor",
) -> Manifest:  # fmt: skip
    """Returns the monitor of a component. The labels are those of the Services or, for a PodMonitor, of the pods."""
    namespaces = {"matchNames": [cluster.components[component].namespace]}
    spec = {**endpoints, "namespaceSelector": namespaces, "selector": {"matchLabels": labels}}
    return _object(cluster, observability, component, kind, component, spec)


def _object(cluster: Cluster, observability: Observability, file: str, kind: str, subject: str, spec: Body) -> Manifest:
    return Manifest(
        file=cluster.out(f"monitoring/{file}.yaml"),
        origin=ORIGIN,
        api=API,
        kind=kind,
        name=f"gpuc-{cluster.name}-{subject}",
        namespace=observability.namespace,
        labels={"release": observability.prometheus.release},
        annotations=wave(0),
        body={"spec": spec},
    )


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
