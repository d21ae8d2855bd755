"""An alerting rule, and PromQL that several alerting rules use."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from msgspec import Struct

from gpuc.model.names import POOL_LABEL
from gpuc.parts.folders import component_folders

_NO_METRIC = re.compile(r'"[^"]*"|\{[^}]*\}|\b(?:by|on|group_left) \([^)]*\)')
"""Parts of an expression that contain labels but no metrics: strings, selectors and lists of labels."""
_METRIC = re.compile(r"\b[A-Za-z]+_\w+\b(?!\()")
POOL = f"label_{POOL_LABEL.replace('.', '_').replace('/', '_')}"
"""The node label gpuc.dev/pool in the metric kube_node_labels."""
INSTANCE_TYPE_LABEL = "label_node_kubernetes_io_instance_type"
"""The node label node.kubernetes.io/instance-type in the metric kube_node_labels."""


class Alert(Struct, frozen=True):
    """An alerting rule.

    Prometheus merges alerts with the same name and the same labels. The labels of two rules with the same name must
    differ.
    """

    name: str
    expression: str
    loss: str
    """What does not work, or what is lost; with `remedy` the annotation summary."""
    remedy: str
    """The first step to fix the problem."""
    details: str
    """Commands that find the reason, for the annotation description."""
    minutes: int = 0
    """How long the expression must be true before the alert fires."""
    severity: str = "warning"
    keep_minutes: int = 0
    """How long the alert continues to fire after the expression is false."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels in addition to the labels of the series and the labels of all alerts."""
    audience: str = "platform"
    """Whose alert it is: platform, or the label with the namespace or the ClusterQueue whose tenant it concerns."""
    silences: Mapping[str, Sequence[str]] = {}
    """The alerts that send no notifications while this one fires, by the label whose value both have."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics that the expression needs."""
        return tuple(sorted(set(_METRIC.findall(_NO_METRIC.sub("", self.expression)))))


class _Text(Template):
    """A text of the table. PromQL and labels contain dollar signs, so variables have another sign."""

    delimiter = "@"


@cache
def _table() -> dict[str, dict[str, Any]]:
    files = (
        Path(__file__).with_name("alerts.toml"),
        *(folder / "alerts.toml" for folder in component_folders().values()),
    )
    present = [file for file in files if file.exists()]
    return {name: row for file in present for name, row in tomllib.loads(file.read_text("utf-8")).items()}


def alert(name: str, *labels: tuple[str, str], minutes: int = 0, severity: str = "warning", **known: object) -> Alert:
    """Returns an alerting rule of the table alerts.toml, here or beside a component.

    Args:
        minutes: the value if the row has none.
        severity: the value if the row has none.
        known: the variables of the texts.
    """
    row: dict[str, Any] = {"minutes": minutes, "severity": severity, **_table()[name]}
    row |= {key: _Text(row[key]).substitute(known) for key in ("expression", "loss", "remedy", "details")}
    return Alert(name, **row, labels=labels)


def any_of(names: Iterable[object]) -> str:
    """Returns a regular expression for a label matcher that matches exactly these names."""
    return "|".join(map(str, names))


def events(selector: str, minutes: int) -> str:
    """Returns PromQL for the number of events of a counter in the last minutes, for each series.

    A counter without events has no series in Kueue and in the autoscaler, and begins with its first event. Prometheus'
    increase() does not count the first value of a series, so for a new series, its value is the number of events. A
    series counts as new if it did not exist between one and two periods ago: a missed scrape makes no series new.
    """
    old = f"last_over_time({selector}[{minutes}m] offset {minutes}m)"
    return f"(({selector} unless {old}) or round(increase({selector}[{minutes}m])))"
