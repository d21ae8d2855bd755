"""Monitors whose selectors can find nothing, by the objects of the tree and by what known charts make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.kubernetes.selector import Selector, matches
from gpuc.lint.checks.monitoring.charts import ANY, Delivered, Labels
from gpuc.manifest.manifest import Manifest
from gpuc.objects.namespace_labels import ALWAYS
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels
from gpuc.objects.pods import pods
from gpuc.objects.selectors import selector, wanted_labels

GROUP = "monitoring.coreos.com"
NOT_THERE = declare_rule(
    "MON001", Severity.WARNING, "A monitor looks for its targets in namespaces that have none of them.",
    "Nothing is scraped and nothing says so: alerts over its metrics never fire. A monitor looks in its own namespace "
    "unless its namespaceSelector names others.",
    "prometheus-operator v0.93 pkg/apis/monitoring/v1, ServiceMonitorSpec.namespaceSelector",
)  # fmt: skip
NO_TARGETS = declare_rule(
    "MON002", Severity.WARNING, "A monitor selects labels that nothing in its namespaces has.",
    "Nothing is scraped and nothing says so: alerts over its metrics never fire.",
    "prometheus-operator v0.93 pkg/apis/monitoring/v1, ServiceMonitorSpec.selector",
)  # fmt: skip
_STILL = frozenset(
    ("ConfigMap", "LimitRange", "NetworkPolicy", "ResourceQuota", "Role", "RoleBinding", "Secret", "ServiceAccount")
)
"""Kinds of objects that bring neither."""
Wanted = tuple[Path, str, list[str]]
"""Place, key and allowed values of a label."""
_WHAT = {"ServiceMonitor": "services", "PodMonitor": "pods"}


def blind(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Monitors that look in the wrong namespaces, or for labels that are not there."""
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
    watched = named or [monitor.namespace]
    if any(targets.has(name, monitor.kind) or targets.may_match(name, monitor.kind, wanted) for name in watched):
        return
    if all(targets.is_quiet(name) for name in watched):
        elsewhere = targets.matching(monitor.kind, selector(raw), wanted)
        if elsewhere:
            path: Path = ("spec", "namespaceSelector", "matchNames") if named else ("spec", "namespaceSelector")
            what = f"{_WHAT[monitor.kind]} with the labels that it selects are in {', '.join(elsewhere[:3])}"
            where = path if isinstance(chosen, dict) else ("spec",)
            yield ObjectFinding(NOT_THERE, monitor, where, f"it looks in {', '.join(watched)} only; {what}")
            return
    if all(targets.delivered.to(name) and targets.is_quiet(name) for name in watched):
        yield from _labels(monitor, targets, watched, wanted)


def _labels(monitor: Manifest, targets: _Targets, watched: list[str], wanted: list[Wanted]) -> Iterator[ObjectFinding]:
    known = [labels for name in watched for labels in targets.delivered.labels(name, monitor.kind)]
    charts = ", ".join(sorted({chart for name in watched for chart in targets.delivered.to(name)}))
    for path, key, values in wanted:
        if any(_has(labels, key, values) for labels in known):
            continue
        there = {value for labels in known for value in labels.get(key, ())}
        near = misspelt(values[0], there) if len(values) == 1 else ""
        if near or targets.tree.is_complete:
            what = missing("the value", " or ".join(values), there, near) if there else "nothing has this label"
            text = f"{_WHAT[monitor.kind]} of {charts} in {', '.join(watched)}, {key}: {what}"
            yield ObjectFinding(NO_TARGETS, monitor, path, text, write(near))


def _has(labels: Labels, key: str, values: list[str]) -> bool:
    return key in labels and (not labels[key] or not labels[key].isdisjoint(values))


@dataclass(frozen=True)
class _Targets:
    """What monitors could scrape, by namespace."""

    tree: ObjectSet

    @cached_property
    def delivered(self) -> Delivered:
        return Delivered(self.tree)

    @cached_property
    def _own(self) -> Mapping[str, Mapping[str, list[dict[str, str]]]]:
        """Labels of the services and pods of the tree, by kind of monitor and namespace."""
        found: dict[str, dict[str, list[dict[str, str]]]] = {kind: {} for kind in _WHAT}
        for service in self.tree.of("", "Service"):
            found["ServiceMonitor"].setdefault(service.namespace, []).append(labels(service.labels))
        for each in pods(self.tree):
            found["PodMonitor"].setdefault(each.manifest.namespace, []).append(each.labels)
        return found

    @cached_property
    def _busy(self) -> frozenset[str]:
        """Namespaces that the tree brings something to that may come with services or pods."""
        return frozenset(
            each.namespace for each in self.tree.manifests if group(each) != GROUP and each.kind not in _STILL
        )

    def has(self, namespace: str, kind: str) -> bool:
        """Whether the tree has such objects there: they are judged by their own labels."""
        return namespace in self._own[kind]

    def is_quiet(self, namespace: str) -> bool:
        """Whether nothing runs there that the tree does not know; of a part of a cluster, whether nothing shows it."""
        if namespace in ALWAYS or not self.delivered.are_known(namespace):
            return False
        return self.tree.is_complete or bool(self.delivered.to(namespace)) or namespace not in self._busy

    def may_match(self, namespace: str, kind: str, wanted: list[Wanted]) -> bool:
        """Whether something that a known chart makes there could have the labels."""
        return any(
            all(_has(made, key, values) for _, key, values in wanted) for made in self.delivered.labels(namespace, kind)
        )

    def matching(self, kind: str, selected: Selector, wanted: list[Wanted]) -> list[str]:
        """Namespaces in which something surely has the labels, one of them at least by a value that is known."""
        own = self._own[kind].items()
        found = {name for name, several in own if name and any(matches(selected, each) for each in several)}
        for namespace in self.delivered.namespaces:
            if self.may_match(namespace, kind, wanted) and any(
                not made.get(key, ANY).isdisjoint(values)
                for made in self.delivered.labels(namespace, kind)
                for _, key, values in wanted
            ):
                found.add(namespace)
        return sorted(found)
