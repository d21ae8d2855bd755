"""Monitoring: a monitor for each component with metrics, and alerting rules."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.alerts import alerts_by_group
from gpuc.emit.alerts.alert import Alert
from gpuc.emit.component import Component, Monitor, needed_components
from gpuc.emit.notify import notifications
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster
from gpuc.spec.platform import Observability

API = "monitoring.coreos.com/v1"
ORIGIN: Path = ("spec", "observability")


def monitoring(cluster: Cluster) -> Iterator[Artifact]:
    """Yields a monitor for each component with metrics, one PrometheusRule per group of alerts, and notifications.

    The charts create no monitors, so that the section `observability` changes no values.
    """
    observability = cluster.spec.observability
    if observability is None:
        return
    for component in needed_components(cluster):
        if component.monitor:
            yield _monitor(cluster, observability, component, component.monitor)
    for group, alerts in alerts_by_group(cluster).items():
        rules = [_rule(cluster, observability, alert) for alert in alerts]
        if rules:
            spec = {"groups": [{"name": f"gpuc-{group}", "rules": rules}]}
            yield _object(cluster, observability, f"rules/{group}", "PrometheusRule", group, spec)
    yield from notifications(cluster, observability)


def _monitor(cluster: Cluster, observability: Observability, component: Component, monitor: Monitor) -> Manifest:
    namespaces = {"matchNames": [component.release(cluster).namespace]}
    selector = {"matchLabels": dict(monitor.labels)}
    spec = {**monitor.endpoints, "namespaceSelector": namespaces, "selector": selector}
    return _object(cluster, observability, component.name, monitor.kind, component.name, spec)


def _object(cluster: Cluster, observability: Observability, file: str, kind: str, subject: str, spec: Body) -> Manifest:
    file, name = cluster.out(f"monitoring/{file}.yaml"), f"gpuc-{cluster.name}-{subject}"
    labels, namespace = {"release": observability.prometheus.release}, observability.namespace
    return Manifest(file, ORIGIN, API, kind, name, {"spec": spec}, namespace, labels, wave(0))


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
