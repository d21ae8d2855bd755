"""Each component answers for its chart what the engines ask: the answers agree with each other and with the chart."""

import copy
import re
import tomllib

import pytest

from gpuc.catalog import load
from gpuc.catalog.schemas import chart, custom_kinds
from gpuc.catalog.schemas.structural import Schema
from gpuc.emit.alerts.alert import Alert
from gpuc.emit.argocd import argocd
from gpuc.emit.component import Component, components, needed_components
from gpuc.emit.prerequisites import CHAPTERS
from gpuc.model import Cluster, resolve
from gpuc.parts.workload_kinds import installed_controllers
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from tests.conftest import EXAMPLES, HUB_CLUSTERS, REFERENCE, ROOT, example
from tests.emit import fleet

CLUSTERS = (*EXAMPLES, *HUB_CLUSTERS, "custom-euc1")
RELEASES = load().releases[max(load().releases)]
KUEUE_WAVE = 10
WITHOUT_TABLE = {
    "disaggregatedset.x-k8s.io": "a kind of LeaderWorkerSet that Kueue does not manage",
    "match.gatekeeper.sh": "the group of one kind with the schema of `match`, of which no object exists",
    "mutations.gatekeeper.sh": "Gatekeeper runs without mutation",
}
"""API groups of charts of which gpuc has no schemas, with the reason."""
WITHOUT_SCHEMA = {
    "kataManager": "values.toml rejects it",
}
"""Paths of Helm values that a component names and that are not in the schema, with the reason."""
each_component = pytest.mark.parametrize("component", components(), ids=lambda component: component.name)


def clusters_with(component: Component) -> list[Cluster]:
    """Returns the example clusters with the component, or the reference cluster with an optional component."""
    if RELEASES[component.name].optional:
        tree = copy.deepcopy(read(ROOT, REFERENCE).tree)
        tree["spec"].setdefault("components", {})[component.name] = {}
        return [resolve(ClusterSpec.model_validate(tree), REFERENCE, load())]
    return [cluster for cluster in map(example, CLUSTERS) if component in needed_components(cluster)]


@each_component
def test_an_example_cluster_needs_the_component(component: Component) -> None:
    assert clusters_with(component)


@each_component
def test_the_readme_has_the_chapter_of_the_component_or_there_is_none(component: Component) -> None:
    file = component.folder / "chapter.md.j2"
    assert file.is_file() == (component.chapter is not None)
    titles = re.findall(r"^#+ [^{\n]+$", file.read_text(), re.MULTILINE) if component.chapter else []
    for cluster in clusters_with(component):
        readme = fleet.readme(argocd(cluster))
        assert [title for title in titles if title not in readme] == []
        assert component.ready_check is None or f". {component.ready_check.statement}:" in readme


@each_component
def test_the_readme_has_what_an_engineer_prepares_for_the_component_or_there_is_nothing(component: Component) -> None:
    assert (component.folder / "preparation.md.j2").is_file() == (component.preparation is not None)
    for cluster in clusters_with(component) if component.preparation else ():
        assert component.preparation.place not in CHAPTERS
        assert f". {component.preparation.chapter(cluster).title}\n" in fleet.readme(argocd(cluster))


@each_component
def test_each_api_group_of_the_chart_has_a_schema_or_a_reason(component: Component) -> None:
    tables = {api.rpartition("/")[0] for api, _ in custom_kinds()}
    groups = set(RELEASES[component.name].groups)
    assert groups - tables == groups & set(WITHOUT_TABLE)


@each_component
def test_a_wave_is_after_what_it_needs(component: Component) -> None:
    waves = {other.name: other.wave for other in components()}
    definitions = RELEASES[component.name].crds_from
    assert definitions in ("", component.name) or waves[definitions] < component.wave
    assert all(folder.wave >= component.wave for folder in component.folders)
    # Kueue manages a kind only if its definition exists when Kueue starts.
    assert not RELEASES[component.name].frameworks or component.wave < KUEUE_WAVE
    assert all(waves[other] < component.wave for other in RELEASES[component.name].requires)


@each_component
def test_a_framework_is_a_kind_of_the_chart(component: Component) -> None:
    for framework in RELEASES[component.name].frameworks:
        assert framework in installed_controllers()
        assert framework.partition("/")[0] in RELEASES[component.name].groups


@each_component
def test_the_monitor_selects_labels_of_the_chart(component: Component) -> None:
    if component.monitor and component.chart_labels:
        known = component.chart_labels.of(component.monitor.kind)
        for key, value in component.monitor.labels.items():
            assert value in known[key]


@each_component
@pytest.mark.parametrize("file", ["alerts.toml", "records.toml"])
def test_each_row_of_the_tables_is_a_rule_of_the_component(component: Component, file: str) -> None:
    table = component.folder / file
    named = set(tomllib.loads(table.read_text())) if table.is_file() else set()
    yielded = {
        rule.name
        for cluster in clusters_with(component)
        for function in component.alerts.values()
        for rule in function(cluster)
        if isinstance(rule, Alert) == (file == "alerts.toml")
    }
    facts = {"gpuc:pool_peak:flops", "gpuc:unit:gpus", "gpuc:xid:info"}
    assert named == yielded - facts


@each_component
def test_an_alert_asks_for_metrics_of_a_component_with_a_monitor(component: Component) -> None:
    assert not component.alerts or component.monitor
    assert not (component.monitor and component.monitor.build_metric) or component.alerts


def has_path(schema: Schema, path: str, definitions: Schema) -> bool:
    for step in path.split("."):
        while "$ref" in schema:
            schema = definitions[schema["$ref"].rpartition("/")[2]]
        if step not in schema.get("properties", {}):
            return not schema.get("properties") and schema.get("additionalProperties") is not False
        schema = schema["properties"][step]
    return True


@each_component
def test_the_paths_of_helm_values_exist_in_the_chart(component: Component) -> None:
    schema = chart(component.name)
    assert schema is not None
    effective = [path for paths in component.ineffective.values() for path in paths]
    paths = (*component.reasons, *component.relied_defaults, *component.ineffective, *effective)
    unknown = {path for path in paths if not has_path(schema, path, schema.get("$defs", {}))}
    assert unknown == set(WITHOUT_SCHEMA) & {*paths}
    assert bool(component.ineffective) == bool(component.ineffective_because)
