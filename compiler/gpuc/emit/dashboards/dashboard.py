"""Writes the JSON of dashboards from the tables panels.toml in the folders of the components.

Source: grafana/grafana-foundation-sdk for Grafana 11.6, package dashboard: the names of the fields
"""

import json
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from gpuc.emit.alerts.promql import of_cluster
from gpuc.manifest.manifest import Body

_DATA = {"type": "prometheus", "uid": "${datasource}"}
"""The data source of all queries: a variable, because its uid differs between installations."""
_COLUMNS = 24
"""The width of Grafana's grid."""
_SIZES = {"stat": (6, 4)}
"""The width and the height of a panel by type, if they are not half of the grid and 8."""
_OPTIONS: dict[str, Body] = {
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}},
    "timeseries": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
}
"""The options of a panel by type, if they differ from the defaults of Grafana."""


@cache
def dashboard_texts(panels_of: tuple[Path, ...], label: str, *, has_argocd: bool) -> dict[str, str]:
    """Returns the JSON of each dashboard that has panels, by name. Each panel is one line of the JSON.

    Args:
        panels_of: the tables of the components whose panels the dashboards have.
        label: the label with the name of the cluster, which becomes a variable; empty if there is only one cluster.
        has_argocd: whether Argo CD runs in the cluster.
    """
    here = Path(__file__).parent
    files = [*panels_of, here / "panels.toml", *([here / "argocd.toml"] if has_argocd else [])]
    tables = [tomllib.loads(file.read_text("utf-8")) for file in files]
    found: dict[str, str] = {}
    for name, row in tomllib.loads((here / "dashboards.toml").read_text("utf-8")).items():
        panels = [panel for table in tables for panel in table.get(name, ())]
        if panels:
            lines = [json.dumps(panel, ensure_ascii=False) for panel in _placed(panels, label)]
            head = json.dumps(_head(name, row, label), ensure_ascii=False)
            found[name] = f'{head[:-1]}, "panels": [\n' + ",\n".join(lines) + "\n]}\n"
    return found


def _head(name: str, row: dict[str, Any], label: str) -> Body:
    """Returns a dashboard without its panels."""
    variables: list[Body] = [
        {"name": "datasource", "label": "data source", "type": "datasource", "query": "prometheus"},
        *([_variable(label, "gpuc:node:info", label, "")] if label else []),
        *(_variable(variable, label=label, **values) for variable, values in row["variables"].items()),
    ]
    marks = [
        {"name": title, "datasource": _DATA, "enable": True, "iconColor": "red", "expr": _selected(query, label)}
        for title, query in row.get("annotations", {}).items()
    ]
    links = {"type": "dashboards", "title": "gpuc", "tags": ["gpuc"], "asDropdown": True, "includeVars": True}
    return {
        "uid": f"gpuc-{name}",
        "title": row["title"],
        "description": row["text"],
        "tags": ["gpuc"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "links": [{**links, "keepTime": True}],
        "templating": {"list": variables},
        **({"annotations": {"list": [{**mark, "titleFormat": mark["name"]} for mark in marks]}} if marks else {}),
    }


def _variable(name: str, series: str, of: str, label: str, *, single: bool = True) -> Body:
    """Returns a variable of the dashboard: users choose from the values that the label `of` has in a series.

    Args:
        single: whether users choose exactly one value, for selectors with `=`. Otherwise they choose any number of
            values, for selectors with `=~`.
    """
    query = f"label_values({_selected(series, label)}, {of})"
    body: Body = {"name": name, "type": "query", "datasource": _DATA, "query": {"query": query, "refId": name}}
    body |= {"refresh": 2, "sort": 1}
    return body if single else {**body, "multi": True, "includeAll": True, "allValue": ".*"}


def _selected(expression: str, label: str) -> str:
    """Returns an expression that reads only the series of the cluster that the user of the dashboard has selected."""
    return of_cluster(expression, label, f"${label}") if label else expression


def _placed(panels: Iterable[dict[str, Any]], label: str) -> Iterator[Body]:
    """Yields the panels with their places: from left to right, then in the next row.

    Panels with a single number come first.
    """
    x = y = line = 0
    for number, panel in enumerate(sorted(panels, key=lambda row: row.get("type") != "stat"), 1):
        width, height = _SIZES.get(panel.get("type", ""), (_COLUMNS // 2, 8))
        if x + width > _COLUMNS or (x and height != line):
            x, y = 0, y + line
        place, x, line = {"x": x, "y": y, "w": width, "h": height}, x + width, height
        yield {"id": number, "gridPos": place, **_panel(panel, label)}


def _panel(row: dict[str, Any], label: str) -> Body:
    """Returns a panel without its id and its place."""
    kind, limit = row.get("type", "timeseries"), row.get("limit")
    text = [row.get("text", ""), f"The limit is that of {limit['alert']}." if limit else ""]
    when: dict[str, Body] = {"table": {"instant": True, "format": "table"}, "stat": {"instant": True}}
    return {
        "type": kind,
        "title": row["title"],
        "description": " ".join(filter(None, text)),
        "datasource": _DATA,
        "fieldConfig": {"defaults": _defaults(kind, row.get("unit", "short"), limit or {}), "overrides": []},
        "options": _OPTIONS.get(kind, {}),
        "targets": [
            {"refId": name, "expr": _selected(query, label), "legendFormat": legend, **when.get(kind, {})}
            for name, (legend, query) in zip(ascii_uppercase, row["queries"].items(), strict=False)
        ],
    }


def _defaults(kind: str, unit: str, limit: dict[str, Any]) -> Body:
    """Returns the unit, the colours and the line of the limit, which has the keys above or below."""
    first, second = ("red", "green") if "below" in limit else ("green", "red")
    steps: list[Body] = [{"color": first, "value": None}]
    steps += [{"color": second, "value": limit[key]} for key in ("above", "below") if key in limit]
    defaults: Body = {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if kind == "status-history":
        return defaults | {"min": 0, "max": 1, "color": {"mode": "continuous-BlYlRd"}}
    return defaults | ({"custom": {"thresholdsStyle": {"mode": "line"}}} if limit and kind == "timeseries" else {})
