from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from msgspec import Struct

from gpuc.catalog import load
from gpuc.cluster.application import ARGO, applications
from gpuc.cluster.monitor import MONITORING, Monitor, monitors
from gpuc.cluster.namespace import ALWAYS
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.emit.component import component_named
from gpuc.emit.component_facts import ANY, ChartLabels, Labels
from gpuc.kubernetes.selector import matches
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, by_first, dig, group, home_namespace, labels
from gpuc.objects.pods import pods
from gpuc.objects.selectors import selector, wanted_labels

WRONG_NAMESPACES = rule_of("MON001")
NO_TARGETS = rule_of("MON002")
NOT_SELECTED = rule_of("MON003")
STACK = "kube-prometheus-stack"
_OF_STACK = f"the Prometheus of {STACK}"
_FIELDS = {"PrometheusRule": "rule", "ServiceMonitor": "serviceMonitor", "PodMonitor": "podMonitor", "Probe": "probe"}
_READERS = {"PrometheusAgent", "ThanosRuler", "VMAgent", "VMAlert", "OpenTelemetryCollector"}
_READING_CHARTS = ("alloy", "k8s-monitoring", "victoria-metrics", "opentelemetry", "grafana-agent", "thanos", "mimir")
"""Kinds, and parts of the names of charts, that may read the objects too."""
_WITHOUT_TARGETS = frozenset(
    ("ConfigMap", "LimitRange", "NetworkPolicy", "ResourceQuota", "Role", "RoleBinding", "Secret", "ServiceAccount")
)
"""Kinds of objects that create no services and no pods."""


@check(WRONG_NAMESPACES, NO_TARGETS)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about monitors that select the wrong namespaces, or labels that no Service or pod has."""
    targets = _Targets(objects)
    for monitor in objects.once(monitors):
        if monitor.wanted and monitor.manifest.namespace and not monitor.is_everywhere:
            yield from _monitor(monitor, targets)


def _monitor(monitor: Monitor, targets: "_Targets") -> Findings:
    namespaces = monitor.namespaces
    if any(targets.has(name, monitor.kind) or targets.may_match(name, monitor) for name in namespaces):
        return
    if all(targets.are_known(name) for name in namespaces):
        elsewhere = targets.matching(monitor)
        if elsewhere:
            message = (
                f"the monitor selects {monitor.targets} only in namespace {', '.join(namespaces)}, but the "
                f"{monitor.targets} with the selected labels are in namespace {', '.join(elsewhere[:3])}"
            )
            yield ObjectFinding(WRONG_NAMESPACES, monitor.manifest, monitor.namespaces_path, message)
            return
    if all(targets.charts.names(name) and targets.are_known(name) for name in namespaces):
        yield from _labels(monitor, targets)


def _labels(monitor: Monitor, targets: "_Targets") -> Findings:
    namespaces, kind = monitor.namespaces, monitor.targets
    known = [labels for name in namespaces for labels in targets.charts.labels(name, monitor.kind)]
    charts = ", ".join(sorted({chart for name in namespaces for chart in targets.charts.names(name)}))
    for path, key, values in monitor.wanted:
        if any(_has(labels, key, values) for labels in known):
            continue
        existing = {value for labels in known for value in labels.get(key, ())}
        suggestion = misspelt(values[0], existing) if len(values) == 1 else ""
        if suggestion or targets.objects.is_complete:
            spaces = ", ".join(namespaces)
            text = f"the {kind} of chart {charts} in namespace {spaces} do not have the label {key}"
            if existing:
                text = f"label {key} of the {kind} of chart {charts} in namespace {spaces}: "
                text += missing("the value", " or ".join(values), existing, suggestion)
            yield ObjectFinding(NO_TARGETS, monitor.manifest, path, text, write(suggestion))


def _has(labels: Labels, key: str, values: list[str]) -> bool:
    return key in labels and (not labels[key] or not labels[key].isdisjoint(values))


class _Targets(Struct, frozen=True, dict=True):
    """The services and pods that monitors can select."""

    objects: ObjectSet

    @cached_property
    def charts(self) -> "InstalledCharts":
        return InstalledCharts(self.objects)

    @cached_property
    def _labels_in_input(self) -> Mapping[str, Mapping[str, list[dict[str, str]]]]:
        """Labels of the services and pods of the input, by kind of monitor and namespace."""
        services = ((service.namespace, labels(service.labels)) for service in self.objects.of("", "Service"))
        of_pods = ((workload.manifest.namespace, workload.labels) for workload in pods(self.objects))
        return {"ServiceMonitor": by_first(services), "PodMonitor": by_first(of_pods)}

    @cached_property
    def _namespaces_with_workloads(self) -> frozenset[str]:
        """Namespaces with objects of the input that may create services or pods."""
        return frozenset(
            home_namespace(manifest)
            for manifest in self.objects.manifests
            if group(manifest) != MONITORING and manifest.kind not in _WITHOUT_TARGETS
        )

    def has(self, namespace: str, kind: str) -> bool:
        """Returns whether the input has Services in a namespace (for a ServiceMonitor) or pods (for a PodMonitor)."""
        known = self._labels_in_input[kind]
        return namespace in known or (namespace == "default" and "" in known)

    def are_known(self, namespace: str) -> bool:
        """Returns whether the labels of all Services and pods in a namespace are known.

        If the input is only a part of a cluster, this is true for a namespace with charts of which gpuc knows the
        labels, and for a namespace without objects that may create Services or pods.
        """
        if namespace in ALWAYS or not self.charts.are_known(namespace):
            return False
        if self.objects.is_complete or self.charts.names(namespace):
            return True
        return namespace not in self._namespaces_with_workloads

    def may_match(self, namespace: str, monitor: Monitor) -> bool:
        """Returns whether a chart in a namespace may create an object with the labels that a monitor selects."""
        return any(
            all(_has(labels, key, values) for _, key, values in monitor.wanted)
            for labels in self.charts.labels(namespace, monitor.kind)
        )

    def matching(self, monitor: Monitor) -> list[str]:
        """Returns the sorted namespaces with Services or pods that have the labels of the monitor.

        The function compares objects of the input, and objects of charts if the value of at least one label is known.
        """
        in_input = self._labels_in_input[monitor.kind].items()
        namespaces = {name for name, several in in_input if name and any(map(monitor.selects, several))}
        for namespace in self.charts.namespaces:
            rows = self.charts.labels(namespace, monitor.kind)
            known = [not row.get(key, ANY).isdisjoint(values) for row in rows for _, key, values in monitor.wanted]
            namespaces |= {namespace} if any(known) and self.may_match(namespace, monitor) else set()
        return sorted(namespaces)


@cache
def known_labels() -> dict[str, tuple[str, ChartLabels]]:
    """Returns, by the name of a chart, the name of its component and the labels; only for charts with known labels."""
    names = {row.chart: row.component for row in load().all_releases}
    found = {chart: (name, component_named(name)) for chart, name in names.items()}
    return {chart: (name, part.chart_labels) for chart, (name, part) in found.items() if part and part.chart_labels}


class InstalledCharts:
    """The charts that Applications install, by namespace. A label counts as unknown if Helm values change the label."""

    def __init__(self, objects: ObjectSet) -> None:
        self._charts: dict[str, list[str]] = {}
        self._relabelled = {
            chart
            for chart, (name, labels) in known_labels().items()
            if _sets(objects.values.get(name), labels.relabelling)
        }
        for application in applications(objects.of(ARGO, "Application")):
            for source in application.sources:
                chart = source.chart.rpartition("/")[2]
                if not chart:
                    continue
                self._charts.setdefault(application.destination.namespace, []).append(chart)
                _, labels = known_labels().get(chart, ("", None))
                if labels and _sets(dig(source.value, "helm"), (*labels.relabelling, "values", "parameters")):
                    self._relabelled.add(chart)  # values in a string or in parameters are not parsed

    def names(self, namespace: str) -> list[str]:
        """Returns the names of all charts in a namespace, also of charts whose labels gpuc does not know."""
        return self._charts.get(namespace, [])

    @cached_property
    def namespaces(self) -> list[str]:
        """The namespaces with at least one chart whose labels gpuc knows."""
        return [name for name, charts in self._charts.items() if not known_labels().keys().isdisjoint(charts)]

    def labels(self, namespace: str, kind: str) -> list[Labels]:
        """Returns the known labels of charts in a namespace: of Services for a ServiceMonitor, or else of pods."""
        return [known_labels()[chart][1].of(kind) for chart in self.names(namespace) if chart in known_labels()]

    def are_known(self, namespace: str) -> bool:
        """Returns whether gpuc knows the labels of all charts in a namespace."""
        return all(
            chart in known_labels() and known_labels()[chart][1].has_all and chart not in self._relabelled
            for chart in self.names(namespace)
        )


def _sets(value: Any, keys: tuple[str, ...]) -> bool:
    """Returns whether one of the keys has a value that is not empty, at any depth."""
    if isinstance(value, dict):
        return any(bool(item) if key in keys else _sets(item, keys) for key, item in value.items())
    return isinstance(value, list) and any(_sets(item, keys) for item in value)


@check(NOT_SELECTED)
def unselected(objects: ObjectSet) -> Findings:
    """Yields a finding for every PrometheusRule or monitor whose labels no Prometheus of the input selects."""
    programs = _programs(objects)
    for manifest in objects.manifests if programs else ():
        field = _FIELDS.get(manifest.kind) if group(manifest) == MONITORING else None
        # A null selector selects nothing, or the configuration is not by objects; the chart renders {{ in a selector.
        raws = [by_field.get(field) for _, by_field in programs]
        known = [raw for raw in raws if isinstance(raw, dict) and "{{" not in str(raw)]
        own = labels(manifest.labels)
        if len(known) == len(programs) and not any(matches(selector(raw), own) for raw in known):
            rows = [row for raw in known for row in wanted_labels(raw, ())]
            wanted = sorted({f"{key}: {' or '.join(values)}" for _, key, values in rows})
            message = f"{programs[0][0]} does not select these labels; its {field}Selector wants {', '.join(wanted)}"
            fix = f"add the label {wanted[0]}" if len(wanted) == 1 and " or " not in wanted[0] else ""
            needs = None if programs[-1][0] == _OF_STACK else "all objects"
            yield ObjectFinding(NOT_SELECTED, manifest, ("metadata", "labels"), message, fix, needs=needs)


def _programs(objects: ObjectSet) -> list[tuple[str, dict[str | None, Any]]]:
    """Returns each Prometheus and its selectors by field; nothing if other programs may read the objects too.

    Without own selectors, the chart makes a Prometheus that selects the objects with the label of the Helm release.
    """
    values, installed = objects.values.get(STACK), list(_installed(objects))
    releases = [release for chart, release in installed if chart == STACK]
    found: list[tuple[str, dict[str | None, Any]]] = [
        (str(row), {field: dig(row.body, "spec", f"{field}Selector") for field in _FIELDS.values()})
        for row in objects.of(MONITORING, "Prometheus")
    ]
    if values is not None or releases:
        is_off = dig(values, "prometheus", "enabled") is False or dig(values, "thanosRuler", "enabled") is True
        if values is None or len(releases) != 1 or is_off:
            return []
        spec, by_release = dig(values, "prometheus", "prometheusSpec"), {"matchLabels": {"release": releases[0]}}
        defaults = {
            field: {} if dig(spec, f"{field}SelectorNilUsesHelmValues") is False else by_release
            for field in _FIELDS.values()
        }
        found.append((_OF_STACK, {name: dig(spec, f"{name}Selector") or defaults[name] for name in defaults}))
    others = any(part in chart for chart, _ in installed for part in _READING_CHARTS)
    return [] if others or any(row.kind in _READERS for row in objects.manifests) else found


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
