"""Labels by which Prometheus chooses what it reads, and Alertmanager whom it tells: one that is unlike all others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from compiler.finding import Fault, Path, Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw
from compiler.verify.references.spelling import misspelt, write
from compiler.verify.tree import Tree, dig, items, pairs

GROUP = "monitoring.coreos.com"
NOT_CHOSEN = fault(
    "MON003", Severity.WARNING, "One object for Prometheus lacks the label that all others have in common.",
    "Prometheus takes monitors and rules by a label, such as the release of its chart: it never reads this one.",
    "prometheus-operator v0.93 pkg/apis/monitoring/v1, PrometheusSpec.ruleSelector; kube-prometheus-stack values.yaml",
)  # fmt: skip
NOT_ROUTED = fault(
    "MON004", Severity.WARNING, "An alert has a label unlike those of all others, or unlike what it is about.",
    "Alertmanager finds whom to tell by such labels: this alert goes to nobody, or to somebody else.",
    "prometheus.io/docs/alerting/latest/configuration, route",
)  # fmt: skip
_LABELS: Path = ("metadata", "labels")
_KINDS = ("ServiceMonitor", "PodMonitor", "PrometheusRule", "Probe")
_LEAST = 3
"""So many others have to be alike: among fewer nobody knows which one is odd."""
_SEVERITIES = ("critical", "error", "high", "info", "low", "medium", "none", "page", "ticket", "warning")
"""What severities are usually called; a routing tree of Alertmanager may know others."""
_SEVERITY = "severity"
_ASKED = re.compile(r'\bresource="([^"]+)"')
Entry = tuple[Manifest, Path, Any]
"""An object, where its labels stand in its document, and the labels."""


def odd_ones(tree: Tree) -> Iterator[Flaw]:
    """Objects that Prometheus passes by, then alerts that go astray."""
    objects = [(each, _LABELS, each.labels) for kind in _KINDS for each in tree.of(GROUP, kind)]
    yield from _odd(NOT_CHOSEN, "objects for Prometheus", objects, tree)
    alerts = list(_alerts(tree))
    yield from _odd(NOT_ROUTED, "alerts", alerts, tree)
    for manifest, path, labels in alerts:
        yield from _resource(manifest, path, labels, tree)
        value = dig(labels, _SEVERITY)
        if isinstance(value, str) and "{{" not in value and value.lower() not in _SEVERITIES:
            near = misspelt(value, _SEVERITIES)
            if near or tree.is_whole:
                text = f'"{value}" is no usual severity: {", ".join(_SEVERITIES)}'
                yield Flaw(NOT_ROUTED, manifest, (*path, _SEVERITY), text, write(near))


def _alerts(tree: Tree) -> Iterator[Entry]:
    for manifest in tree.of(GROUP, "PrometheusRule"):
        for number, part in items(dig(manifest.body, "spec", "groups")):
            for index, rule in items(dig(part, "rules")):
                if isinstance(rule, dict) and "alert" in rule:
                    yield manifest, ("spec", "groups", number, "rules", index, "labels"), rule.get("labels")


def _resource(manifest: Manifest, path: Path, labels: Any, tree: Tree) -> Iterator[Flaw]:
    """An alert about a resource that names another one than its expression asks for.

    Source: kube-state-metrics docs/metrics/cluster/node-metrics.md, label "resource": all signs but letters, figures
    and underscores are underscores
    """
    told, rule = dig(labels, "resource"), dig(manifest.body, *path[:-1])
    asked = set(_ASKED.findall(str(dig(rule, "expr"))))
    if tree.is_whole and isinstance(told, str) and asked and re.sub(r"\W", "_", told) not in asked:
        text = f'"{told}", and its expression asks for {", ".join(sorted(asked))}'
        yield Flaw(NOT_ROUTED, manifest, (*path, "resource"), text)


def _odd(found: Fault, what: str, entries: Sequence[Entry], tree: Tree) -> Iterator[Flaw]:
    """Labels that all entries but one have, with one value.

    Of a part of a cluster, another Prometheus may read what has another value: only one that is misspelt is odd there.
    """
    others = len(entries) - 1
    if others < _LEAST:
        return
    pairs_of = Counter(pair for _, _, labels in entries for pair in pairs(labels) if isinstance(pair[1], str))
    for (key, usual), count in pairs_of.items():
        if count != others or key == _SEVERITY:
            continue
        for manifest, path, labels in entries:
            value = dig(labels, key)
            near = misspelt(value, [usual]) if isinstance(value, str) else ""
            if value != usual and (near or tree.is_whole):
                seen = f'"{value}"' if value is not None else "it does not have the label"
                place = (*path, key) if value is not None else path if labels else path[:-1]
                text = f'{seen}; the other {others} {what} have "{key}: {usual}"'
                yield Flaw(found, manifest, place, text, write(near))
