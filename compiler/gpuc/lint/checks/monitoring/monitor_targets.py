"""ServiceMonitors and PodMonitors that select nothing among the input's objects and the objects of known charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.kubernetes.selector import Selector, matches
from gpuc.lint.checks.monitoring.chart_labels import ANY, DeliveredCharts, Labels
from gpuc.manifest.manifest import Manifest
from gpuc.objects.namespace_labels import ALWAYS
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels
from gpuc.objects.pods import pods
from gpuc.objects.selectors import selector, wanted_labels

GROUP = "monitoring.coreos.com"
NOT_THERE = declare_rule(
    "MON001", Severity.WARNING, "A monitor looks for its targets in the wrong namespaces.",
    "Prometheus scrapes nothing and reports no error: alerts on the metrics never fire. A monitor looks in its own "
    "namespace unless its namespaceSelector names others.",
    "prometheus-operator v0.93 pkg/apis/monitoring/v1, ServiceMonitorSpec.namespaceSelector",
)  # fmt: skip
NO_TARGETS = declare_rule(
    "MON002", Severity.WARNING, "A monitor selects labels that no target in its namespaces has.",
    "Prometheus scrapes nothing and reports no error: alerts on the metrics never fire.",
    "prometheus-operator v0.93 pkg/apis/monitoring/v1, ServiceMonitorSpec.selector",
)  # fmt: skip
_WITHOUT_TARGETS = frozenset(
    ("ConfigMap", "LimitRange", "NetworkPolicy", "ResourceQuota", "Role", "RoleBinding", "Secret", "ServiceAccount")
)
"""Kinds of objects that create no services and no pods."""
Wanted = tuple[Path, str, list[str]]
"""Place, key and allowed values of a label."""
_WHAT = {"ServiceMonitor": "services", "PodMonitor": "pods"}


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Monitors that look in the wrong namespaces, or for labels that no target has."""
    targets = _Targets(tree)
    for kind in _WHAT:
        for monitor in tree.of(GROUP, kind):
            yield from _monitor(monitor, targets)


def _monitor(monitor: Manifest, targets: _Targets) -> Iterator[ObjectFinding]:
    raw, chosen = (dig(monitor.body, "spec", part) for part in ("selector", "namespaceSelector"))
    wanted = list(wanted_labels(raw, ("spec", "selector")))
    if not wanted or not monitor.namespace or dig(chosen, "any") is True:
        return
    named = [name for _, name in items(dig(chosen, "matchNames")) if isinstance(name, str)]
    namespaces = named or [monitor.namespace]
    if any(targets.has(name, monitor.kind) or targets.may_match(name, monitor.kind, wanted) for name in namespaces):
        return
    if all(targets.are_known(name) for name in namespaces):
        elsewhere = targets.matching(monitor.kind, selector(raw), wanted)
        if elsewhere:
            path: Path = ("spec", "namespaceSelector", "matchNames") if named else ("spec", "namespaceSelector")
            what = f"{_WHAT[monitor.kind]} with the selected labels are in {', '.join(elsewhere[:3])}"
            where = path if isinstance(chosen, dict) else ("spec",)
            yield ObjectFinding(NOT_THERE, monitor, where, f"the monitor looks only in {', '.join(namespaces)}; {what}")
            return
    if all(targets.delivered.to(name) and targets.are_known(name) for name in namespaces):
        yield from _labels(monitor, targets, namespaces, wanted)


def _labels(
    monitor: Manifest, targets: _Targets, namespaces: list[str], wanted: list[Wanted]
) -> Iterator[ObjectFinding]:
    known = [labels for name in namespaces for labels in targets.delivered.labels(name, monitor.kind)]
    charts = ", ".join(sorted({chart for name in namespaces for chart in targets.delivered.to(name)}))
    for path, key, values in wanted:
        if any(_has(labels, key, values) for labels in known):
            continue
        existing = {value for labels in known for value in labels.get(key, ())}
        suggestion = misspelt(values[0], existing) if len(values) == 1 else ""
        if suggestion or targets.tree.is_complete:
            what = (
                missing("the value", " or ".join(values), existing, suggestion) if existing else "none has this label"
            )
            text = f"{_WHAT[monitor.kind]} of {charts} in {', '.join(namespaces)}, {key}: {what}"
            yield ObjectFinding(NO_TARGETS, monitor, path, text, write(suggestion))


def _has(labels: Labels, key: str, values: list[str]) -> bool:
    return key in labels and (not labels[key] or not labels[key].isdisjoint(values))


@dataclass(frozen=True)
class _Targets:
    """The services and pods that monitors could scrape."""

    tree: ObjectSet

    @cached_property
    def delivered(self) -> DeliveredCharts:
        return DeliveredCharts(self.tree)

    @cached_property
    def _own(self) -> Mapping[str, Mapping[str, list[dict[str, str]]]]:
        """Labels of the services and pods of the input, by kind of monitor and namespace."""
        found: dict[str, dict[str, list[dict[str, str]]]] = {kind: {} for kind in _WHAT}
        for service in self.tree.of("", "Service"):
            found["ServiceMonitor"].setdefault(service.namespace, []).append(labels(service.labels))
        for workload in pods(self.tree):
            found["PodMonitor"].setdefault(workload.manifest.namespace, []).append(workload.labels)
        return found

    @cached_property
    def _busy(self) -> frozenset[str]:
        """Namespaces with objects of the input that may create services or pods."""
        return frozenset(
            manifest.namespace
            for manifest in self.tree.manifests
            if group(manifest) != GROUP and manifest.kind not in _WITHOUT_TARGETS
        )

    def has(self, namespace: str, kind: str) -> bool:
        """Whether the input has targets in a namespace; the check of selectors compares their labels."""
        return namespace in self._own[kind]

    def are_known(self, namespace: str) -> bool:
        """Whether all targets in a namespace are known; of partial input, whether nothing points to others."""
        if namespace in ALWAYS or not self.delivered.are_known(namespace):
            return False
        return self.tree.is_complete or bool(self.delivered.to(namespace)) or namespace not in self._busy

    def may_match(self, namespace: str, kind: str, wanted: list[Wanted]) -> bool:
        """Whether an object of a known chart in a namespace could have the labels."""
        return any(
            all(_has(row, key, values) for _, key, values in wanted) for row in self.delivered.labels(namespace, kind)
        )

    def matching(self, kind: str, selected: Selector, wanted: list[Wanted]) -> list[str]:
        """Namespaces in which an object certainly has the labels; of a chart, at least one value has to be known."""
        own = self._own[kind].items()
        found = {name for name, several in own if name and any(matches(selected, labels) for labels in several)}
        for namespace in self.delivered.namespaces:
            if self.may_match(namespace, kind, wanted) and any(
                not row.get(key, ANY).isdisjoint(values)
                for row in self.delivered.labels(namespace, kind)
                for _, key, values in wanted
            ):
                found.add(namespace)
        return sorted(found)
