"""The classes of alerting rules and recording rules, and PromQL expressions that several rules use."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from msgspec import Struct

from gpuc.emit.alerts.promql import metric_names
from gpuc.model.names import POOL_LABEL
from gpuc.parts.folders import table_folders

POOL = f"label_{POOL_LABEL.replace('.', '_').replace('/', '_')}"
"""The node label gpuc.dev/pool in the metric kube_node_labels."""
INSTANCE_TYPE_LABEL = "label_node_kubernetes_io_instance_type"
"""The node label node.kubernetes.io/instance-type in the metric kube_node_labels."""


class _Rule(Struct, frozen=True):
    """A rule of Prometheus."""

    name: str
    expression: str

    @property
    def reads(self) -> frozenset[str]:
        """The names of the metrics and recorded series that the expression selects."""
        return frozenset(metric_names(self.expression))


class Alert(_Rule, frozen=True):
    """An alerting rule of Prometheus.

    Prometheus merges alerts with the same name and the same labels. So two rules with the same name must have different
    labels.
    """

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
    """Who gets the alert: "platform", or a label whose value is a namespace or a ClusterQueue of the tenant."""
    silences: Mapping[str, Sequence[str]] = {}
    """The alerts that send no notifications while this alert fires. The key is a label that must be equal in both."""
    stop: str = ""
    """What not to do, or when to stop and ask; only in the runbook."""


class Record(_Rule, frozen=True):
    """A recording rule of Prometheus: the name, the labels and the expression of a recorded series."""

    labels: tuple[tuple[str, str], ...] = ()


Rule = Alert | Record


class _Text(Template):
    """A text of alerts.toml with variables.

    PromQL and labels contain dollar signs, so variables begin with another sign.
    """

    delimiter = "@"


@cache
def _table() -> dict[str, Any]:
    """Returns the rows of all files alerts.toml: here, and in the folders of components and substrates."""
    folders = (Path(__file__).parent, *table_folders())
    present = [file for folder in folders if (file := folder / "alerts.toml").exists()]
    return {row: values for file in present for row, values in tomllib.loads(file.read_text("utf-8")).items()}


def alert(name: str, *labels: tuple[str, str], minutes: int = 0, severity: str = "warning", **known: object) -> Alert:
    """Returns an alerting rule from a row of a table alerts.toml. The tables are in this folder and beside components.

    Args:
        name: the name of the alert, which is the name of the row.
        minutes: how long the condition must hold, if the row does not say it.
        severity: the severity, if the row does not say it.
        known: the variables in the texts of the row.
    """
    row: dict[str, Any] = {"minutes": minutes, "severity": severity, **_table()[name]}
    texts = ("expression", "loss", "remedy", "details", "stop")
    row |= {key: _Text(row[key]).substitute(known) for key in texts if key in row}
    return Alert(name, **row, labels=labels)


def fact(name: str, value: object = 1, **labels: str) -> Record:
    """Returns a recording rule with a constant value, for example from the spec. Empty labels are left out."""
    return Record(name, f"vector({value})", tuple((label, text) for label, text in labels.items() if text))


@cache
def records(folder: Path) -> tuple[Record, ...]:
    """Returns the recording rules of the table records.toml in a folder."""
    table = tomllib.loads((folder / "records.toml").read_text("utf-8"))
    return tuple(Record(name, _Text(row).substitute(table)) for name, row in table.items() if ":" in name)


def any_of(names: Iterable[object]) -> str:
    """Returns a regular expression that matches the given names and no other names."""
    return "|".join(map(str, names))


def events(selector: str, minutes: int) -> str:
    """Returns PromQL for the number of events that each series of a counter counted in the last minutes.

    In Kueue and in the autoscaler, the series of a counter begins with its first event. increase() of Prometheus does
    not count the first value of a series. So the expression uses the complete value of a new series. A series is new if
    it did not exist between one and two periods ago. A missed scrape therefore does not make a series new.
    """
    old = f"last_over_time({selector}[{minutes}m] offset {minutes}m)"
    return f"(({selector} unless {old}) or round(increase({selector}[{minutes}m])))"
