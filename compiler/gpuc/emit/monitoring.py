"""Monitoring: a ServiceMonitor or PodMonitor for each component with metrics, alerting rules and recording rules."""

from collections.abc import Iterator

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.emit.alerts import rules_by_group
from gpuc.emit.alerts.alert import Alert, Record, Rule
from gpuc.emit.alerts.promql import of_cluster
from gpuc.emit.component import Component, Monitor, needed_components
from gpuc.emit.notify import KIND, notification_spec
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster
from gpuc.spec.platform import Observability

API = "monitoring.coreos.com/v1"
ORIGIN: Path = ("spec", "observability")


def monitoring(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the monitor of each component with metrics, a PrometheusRule for each group of rules, and notifications.

    The charts themselves create no monitors, so the section `observability` of the spec changes no Helm values.
    """
    observability = cluster.spec.observability
    if observability is None:
        return
    for component in needed_components(cluster):
        if component.monitor:
            yield _monitor(cluster, observability, component, component.monitor)
    for group, rules in rules_by_group(cluster).items():
        if rules:
            rows = [_rule(cluster, observability, rule) for rule in rules]
            spec = {"groups": [{"name": f"gpuc-{group}", "rules": rows}]}
            yield _object(cluster, observability, f"rules/{group}", "PrometheusRule", group, spec)
    if notify := observability.notify:
        config = _object(cluster, observability, "notify", KIND[1], "notify", notification_spec(cluster, notify))
        yield replace(config, api=f"{KIND[0]}/v1alpha1", origin=(*ORIGIN, "notify"))


def _monitor(cluster: Cluster, observability: Observability, component: Component, monitor: Monitor) -> Manifest:
    namespaces = {"matchNames": [component.release(cluster).namespace]}
    selector = {"matchLabels": dict(monitor.labels)}
    spec = {**monitor.endpoints, "namespaceSelector": namespaces, "selector": selector}
    return _object(cluster, observability, component.name, monitor.kind, component.name, spec)


def _object(cluster: Cluster, observability: Observability, file: str, kind: str, subject: str, spec: Body) -> Manifest:
    file, name = cluster.out(f"monitoring/{file}.yaml"), f"gpuc-{cluster.name}-{subject}"
    labels, namespace = {"release": observability.prometheus.release}, observability.namespace
    return Manifest(file, ORIGIN, API, kind, name, {"spec": spec}, namespace, labels, wave(0))


def _rule(cluster: Cluster, observability: Observability, rule: Rule) -> Body:
    label = observability.prometheus.cluster_label
    expression = of_cluster(rule.expression, label, cluster.name) if label else rule.expression
    own = {label: cluster.name} if label else {}
    if isinstance(rule, Record):
        labels = {**own, **dict(rule.labels)}
        return {"record": rule.name, "expr": expression, **({"labels": labels} if labels else {})}
    body: Body = {"alert": rule.name, "expr": expression}
    if rule.minutes:
        body["for"] = f"{rule.minutes}m"
    if rule.keep_minutes:
        body["keep_firing_for"] = f"{rule.keep_minutes}m"
    team = observability.alerts.team
    labels = {"cluster": cluster.name, **own, "severity": rule.severity, "team": team}
    body["labels"] = {**labels, **dict(rule.labels)}
    body["annotations"] = _annotations(cluster, rule)
    return body


def _annotations(cluster: Cluster, alert: Alert) -> Body:
    """Returns the annotations of an alert. Only repositories with https have pages for browsers.

    GitHub and GitLab show a file of a branch below blob/.
    """
    annotations = {"summary": f"{alert.loss} {alert.remedy}", "description": alert.details}
    delivery = cluster.spec.delivery
    if delivery.repo.startswith("https://"):
        folder = delivery.path.removesuffix("out")
        page = f"{delivery.repo.removesuffix('.git')}/blob/{delivery.revision}/{folder}{cluster.entry('RUNBOOK.md')}"
        annotations["runbook_url"] = f"{page}#{alert.name.lower()}"
    return annotations
