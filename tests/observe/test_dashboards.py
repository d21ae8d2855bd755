"""Every query of every panel returns data from a real Prometheus, and none of another cluster.

How Grafana draws a panel, and how it replaces variables, is not tested.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuc.emit.dashboards import texts
from tests.alerts.case import rules
from tests.conftest import HUB_CLUSTERS, example
from tests.observe import programs
from tests.observe.pages import pages
from tests.observe.store import Store, running

STORES = (("prod-use1",), ("infer-euw1",), ("train-usw2",), ("custom-euc1",), ("lab-dc1",), HUB_CLUSTERS)
"""The clusters of each Prometheus. Those of the hub share one."""
SECONDS = 60
"""The time for scrapes and rules, also on a busy machine."""


@pytest.fixture(scope="module", params=STORES, ids=lambda names: names[0])
def store(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program = programs.find("prometheus")
    if program is None:
        pytest.skip(programs.MISSING.format("prometheus"))
    names, folder = request.param, tmp_path_factory.mktemp("prometheus")
    groups = [{"name": f"{name} {group}", "rules": found} for name in names for group, found in rules(name).items()]
    label = cluster_label(names[0])
    content = {name: pages(example(name), shared) for name in names}
    with running(program, folder, content, groups, label) as found:
        yield names, found


def cluster_label(name: str) -> str:
    observability = example(name).spec.observability
    assert observability is not None
    return observability.prometheus.cluster_label or ""


def queries(name: str, store: Store, cluster: str) -> dict[str, str]:
    """The queries of all panels of a cluster, with the values that Grafana would give to the variables."""
    found = {}
    for text in texts(example(name)).values():
        dashboard = json.loads(text)
        values: dict[str, str] = {}
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                values[variable["name"]] = chosen(variable, values, store, cluster)
        for mark in dashboard.get("annotations", {"list": ()})["list"]:
            found[f"{dashboard['uid']}: {mark['name']}"] = replaced(mark["expr"], values)
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                key = f"{dashboard['uid']}: {panel['title']}: {target['refId']}"
                found[key] = replaced(target["expr"], values)
    return found


def chosen(variable: dict[str, Any], values: dict[str, str], store: Store, cluster: str) -> str:
    """The value of a variable: the cluster, the first value, or all values in the notation of regular expressions."""
    if variable["name"] == "cluster":
        return cluster
    found = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
    assert found
    options = store.values(replaced(found[1], values), found[2])
    return f"({'|'.join(options)})" if variable.get("multi") else (options or [""])[0]


def replaced(text: str, values: dict[str, str]) -> str:
    """The text with values; Grafana leaves other names, such as the $1 of label_replace."""
    return re.sub(r"\$(\w+)", lambda name: values.get(name[1], name[0]), text)


@pytest.mark.slow
def test_every_query_returns_data(store: tuple[tuple[str, ...], Store]) -> None:
    names, prometheus = store
    for name in names:
        has_peak = any(pool.gpu.peak_tflops for pool in example(name).gpu_pools)  # the catalog has none of the L4
        unknown = () if has_peak else ('gpuc:namespace_mfu:ratio{namespace="vision"}',)
        empty, end = {"": ""}, time.monotonic() + SECONDS
        while empty and time.monotonic() < end:
            asked = queries(name, prometheus, name)
            empty = {key: query for key, query in asked.items() if query not in unknown and not prometheus.ask(query)}
        assert not empty
        assert len(asked) > 60
    assert prometheus.broken_rules() == []


@pytest.mark.slow
def test_a_query_returns_nothing_of_another_cluster(store: tuple[tuple[str, ...], Store]) -> None:
    names, prometheus = store
    label = cluster_label(names[0])
    for name in names if label else ():
        found = [series for query in queries(name, prometheus, name).values() for series in prometheus.ask(query)]
        assert found
        assert {series["metric"].get(label, name) for series in found} == {name}
        other = {key: prometheus.ask(query) for key, query in queries(name, prometheus, "other").items()}
        assert {key for key, series in other.items() if series} == set()
