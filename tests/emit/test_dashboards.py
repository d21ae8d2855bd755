"""Dashboards: their layout, limits and schema, and how they come to Grafana. tests/observe asks the queries."""

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpuc.emit.alerts import alerts
from gpuc.emit.alerts.promql import metric_names
from gpuc.emit.component import components
from gpuc.emit.dashboards import dashboard, dashboards, texts
from gpuc.manifest.manifest import Manifest, Text
from tests.conftest import HUB_CLUSTERS, Variant, example

CLUSTERS = ("prod-use1", "infer-euw1", "train-usw2", "custom-euc1", "lab-dc1", *HUB_CLUSTERS)
NAMES = ["fleet", "pool", "node", "queues", "job", "tenant"]
each_cluster = pytest.mark.parametrize("name", CLUSTERS)


def boards(name: str) -> dict[str, dict[str, Any]]:
    return {board: json.loads(text) for board, text in texts(example(name)).items()}


def panels(name: str) -> list[dict[str, Any]]:
    return [panel for board in boards(name).values() for panel in board["panels"]]


@each_cluster
def test_a_cluster_has_all_dashboards(name: str) -> None:
    found = boards(name)
    assert list(found) == NAMES
    assert [board["uid"] for board in found.values()] == [f"gpuc-{board}" for board in NAMES]


@each_cluster
def test_panels_do_not_overlap(name: str) -> None:
    for board in boards(name).values():
        cells: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
            assert max(x for x, _ in own) < 24
            assert not own & cells
            cells |= own
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@each_cluster
def test_queries_are_promql_over_declared_variables(name: str) -> None:
    parser = pytest.importorskip("promql_parser")
    for board in boards(name).values():
        variables = {variable["name"] for variable in board["templating"]["list"]}
        for panel in board["panels"]:
            names = [target["refId"] for target in panel["targets"]]
            assert len(set(names)) == len(names)
            for target in panel["targets"]:
                parser.parse(target["expr"])
                assert set(re.findall(r"\$([a-z]\w*)", target["expr"])) <= variables


@each_cluster
def test_texts_have_no_names_of_the_cluster(name: str) -> None:
    cluster = example(name)
    names = [pool.name for pool in cluster.pools] + [tenant.name for tenant in cluster.tenants]
    names += [namespace.name for _, namespace in cluster.namespaces] + [cluster.name]
    for text in texts(cluster).values():
        assert not [found for found in names if re.search(rf'"{found}"|={found}', text)]


def test_clusters_with_the_same_components_share_the_texts() -> None:
    first, second = (texts(example(name)) for name in HUB_CLUSTERS)
    assert all(first[name] is second[name] for name in NAMES)


@pytest.mark.parametrize("name", HUB_CLUSTERS)
def test_each_selector_has_the_cluster_if_the_store_has_several(name: str) -> None:
    parser = pytest.importorskip("promql_parser")
    marks = [mark for board in boards(name).values() for mark in board.get("annotations", {"list": ()})["list"]]
    assert marks
    for panel in (*panels(name), {"targets": marks}):
        for target in panel["targets"]:
            assert target["expr"].count('cluster="$cluster"') == len(list(metric_names(target["expr"])))
            parser.parse(target["expr"])


@each_cluster
def test_a_limit_is_that_of_the_alert(name: str) -> None:
    expressions: dict[str, str] = {}
    for alert in alerts(example(name)):
        expressions[alert.name] = expressions.get(alert.name, "") + alert.expression
    files = [component.folder / "panels.toml" for component in components()]
    tables = [tomllib.loads(file.read_text("utf-8")) for file in files if file.exists()]
    limits = [row["limit"] for table in tables for rows in table.values() for row in rows if "limit" in row]
    assert limits
    for limit in limits:
        sign, number = (">", limit["above"]) if "above" in limit else ("<", limit["below"])
        if limit["alert"] in expressions:
            assert re.search(rf"{sign}=? {number}\b", expressions[limit["alert"]]), limit
        else:
            assert name == "lab-dc1"


@each_cluster
def test_the_schema_of_grafana_knows_all_keys(name: str) -> None:
    """The schema drops keys that it does not know, so what it writes again must contain the dashboard."""
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard")
    encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder").JSONEncoder
    plugins = pytest.importorskip("grafana_foundation_sdk.cog.plugins")
    plugins.register_default_plugins()
    for board in boards(name).values():
        again = json.loads(json.dumps(models.Dashboard.from_json(board), cls=encoder))
        lost = missing(board, again)
        # The schema says of queries of annotations that they are to do. titleFormat is in the models of no version.
        assert [path for path in lost if not re.match(r"\.annotations\.list\[\d\]\.titleFormat:", path)] == []
    for kind in {panel["type"] for panel in panels(name)}:  # the schema accepts other types without a look at options
        import_module(f"grafana_foundation_sdk.models.{kind.replace('-', '')}")


def missing(wanted: Any, found: Any, path: str = "") -> list[str]:
    """The paths of values that the other document does not have."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [part for key in wanted for part in missing(wanted[key], found.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [part for place, pair in pairs for part in missing(*pair, f"{path}[{place}]")]
    return [] if wanted == found else [f"{path}: {wanted!r}, {found!r}"]


def delivered(variant: Variant, **settings: Any) -> list[Any]:
    return list(dashboards(variant(lambda spec: spec["observability"].__setitem__("dashboards", settings))))


def test_configmaps_are_those_that_the_sidecar_of_kube_prometheus_stack_reads(variant: Variant) -> None:
    """Source: prometheus-community/helm-charts kube-prometheus-stack-88.5.3 values.yaml, grafana.sidecar.dashboards"""
    found = delivered(variant)
    assert [manifest.name for manifest in found] == [f"gpuc-prod-use1-dashboard-{name}" for name in NAMES]
    for manifest in found:
        assert isinstance(manifest, Manifest)
        assert (manifest.namespace, manifest.labels) == ("monitoring", {"grafana_dashboard": "1"})
        assert len(manifest.body["data"]) == 1
        assert len(json.dumps(manifest.body)) < 100_000  # the limit of a ConfigMap is 1 MiB


def test_the_sidecar_can_have_another_label_and_a_folder(variant: Variant) -> None:
    found = delivered(variant, labels={"boards": "yes"}, annotations={"folder": "gpus"})
    assert all(manifest.labels == {"boards": "yes"} and manifest.annotations["folder"] == "gpus" for manifest in found)


def test_files_are_json_outside_of_the_folders_of_argo_cd(variant: Variant) -> None:
    found = delivered(variant, via="files")
    assert [artifact.file for artifact in found] == [
        f"clusters/prod-use1/dashboards/gpuc-{name}.json" for name in NAMES
    ]
    assert all(isinstance(artifact, Text) and json.loads(artifact.text) for artifact in found)


def test_a_spec_can_have_no_dashboards(variant: Variant) -> None:
    assert delivered(variant, via="none") == []
    assert list(dashboards(variant(lambda spec: spec.pop("observability")))) == []


def test_each_dashboard_of_a_table_exists() -> None:
    here = Path(dashboard.__file__).parent
    files = [component.folder / "panels.toml" for component in components()] + [here / "panels.toml"]
    named = {name for file in files if file.exists() for name in tomllib.loads(file.read_text("utf-8"))}
    assert named == set(NAMES)
