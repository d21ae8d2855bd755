"""Rules and monitors that the Prometheus of the chart kube-prometheus-stack does not select.

Without own selectors, it selects the objects with the label of the Helm release.

Source: prometheus-community/helm-charts kube-prometheus-stack-88.5.3 templates/prometheus/prometheus.yaml, values.yaml
"""

from collections.abc import Iterator

from gpuc.cluster.application import ARGO, applications
from gpuc.kubernetes.selector import matches
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, labels
from gpuc.objects.selectors import selector

NOT_SELECTED = rule_of("MON003")
STACK = "kube-prometheus-stack"
_GROUP = "monitoring.coreos.com"
_FIELDS = {
    "PrometheusRule": "rule", "ServiceMonitor": "serviceMonitor", "PodMonitor": "podMonitor", "Probe": "probe",
    "ScrapeConfig": "scrapeConfig",
}  # fmt: skip
_READERS = {"Prometheus", "PrometheusAgent", "ThanosRuler", "VMAgent", "VMAlert", "OpenTelemetryCollector"}
_READING_CHARTS = ("alloy", "k8s-monitoring", "victoria-metrics", "opentelemetry", "grafana-agent", "thanos", "mimir")
"""Kinds, and parts of the names of charts, that may read the objects too."""


@check(NOT_SELECTED)
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every object that the only Prometheus of the input does not select."""
    values, installed = objects.values.get(STACK), list(_installed(objects))
    releases = [release for chart, release in installed if chart == STACK]
    others = any(part in chart for chart, _ in installed for part in _READING_CHARTS)
    others = others or any(row.kind in _READERS for row in objects.manifests)
    is_off = dig(values, "prometheus", "enabled") is False or dig(values, "thanosRuler", "enabled") is True
    if values is None or len(releases) != 1 or others or is_off:
        return
    spec = dig(values, "prometheus", "prometheusSpec")
    for manifest in objects.manifests:
        field = _FIELDS.get(manifest.kind) if group(manifest) == _GROUP else None
        own = dig(spec, f"{field}Selector")
        if field is None or (not own and dig(spec, f"{field}SelectorNilUsesHelmValues") is False):
            continue
        raw = own if isinstance(own, dict) and own else {"matchLabels": {"release": releases[0]}}
        if not matches(selector(raw), labels(manifest.labels)):
            key, value = next(iter(labels(raw.get("matchLabels")).items()), ("", ""))
            wanted = f" with the label {key}: {value}" if key else ""
            message = f"the Prometheus of {STACK} selects only objects of the kind{wanted}"
            fix = f"add the label {key}: {value}" if key else ""
            yield ObjectFinding(NOT_SELECTED, manifest, ("metadata", "labels"), message, fix)


def _installed(objects: ObjectSet) -> Iterator[tuple[str, str]]:
    """Yields the chart and the name of every Helm release of Argo CD and Flux."""
    for application in applications(objects.of(ARGO, "Application")):
        for source in application.sources:
            yield source.chart, str(dig(source.value, "helm", "releaseName") or application.name)
    for release in objects.of("helm.toolkit.fluxcd.io", "HelmRelease"):
        spec = release.body.get("spec")
        target = dig(spec, "targetNamespace")
        name = dig(spec, "releaseName") or (f"{target}-{release.name}" if target else release.name)
        yield str(dig(spec, "chart", "spec", "chart") or dig(spec, "chartRef", "name")), str(name)
