"""JobSet, an optional component: the chart, its values, its certificate and its alert."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.components.jobset.component import COMPONENT, LEADER, jobset
from gpuc.diagnostics.finding import StageError
from gpuc.emit.component import needed_components
from gpuc.extra.files import read_files
from gpuc.kubernetes.controllers import JOBSET
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.model import Cluster
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.stages import CompiledSpec, compile_source
from gpuc.rules import check
from gpuc.source import read
from tests.conftest import EXAMPLES, REFERENCE, ROOT, Change, compiled_example, example, remove_runtimes
from tests.emit.fleet import readme

Variant = Callable[[Change], Cluster]
ACCOUNT = "jobset-system:jobset-controller"
REPOSITORY = "registry.k8s.io/jobset/charts"


def with_jobset(spec: dict[str, Any], **settings: Any) -> None:
    """Leaves JobSet as the only component. Training runtimes would need Kubeflow Trainer."""
    spec["components"] = {"jobset": settings}
    remove_runtimes(spec)


def compiled_with(change: Change) -> CompiledSpec:
    """Compiles a copy of the reference spec."""
    source = read(ROOT, REFERENCE)
    tree = copy.deepcopy(source.tree)
    change(tree["spec"])
    files, catalog = read_files(ROOT, REFERENCE), fleet_catalog(ROOT).catalog
    return compile_source(replace(source, tree=tree), fleet_policies(ROOT), files=files, catalog=catalog)


def without_components(spec: dict[str, Any]) -> None:
    """Removes the components; Kueue manages their kinds nevertheless."""
    spec["components"] = {}
    remove_runtimes(spec)
    spec["kueue"]["frameworks"] = ["batch/job", JOBSET, "trainer.kubeflow.org/trainjob"]
    spec["kueue"]["controllers"] = {JOBSET: "jobset-system/jobset-controller"}


@cache
def without() -> CompiledSpec:
    """The reference spec without components of workloads."""
    return compiled_with(without_components)


@cache
def compiled() -> CompiledSpec:
    """The reference spec with JobSet."""
    return compiled_with(with_jobset)


def manifest(artifacts: tuple[Artifact, ...], kind: str, name: str) -> dict[str, Any]:
    """Returns the fields of an object."""
    (found,) = (item for item in artifacts if isinstance(item, Manifest) and (item.kind, item.name) == (kind, name))
    return found.body


def with_version(spec: dict[str, Any], version: str) -> None:
    spec["releases"] = {"set": "2026.08", "components": {"jobset": version}}


def values_of(cluster: Cluster) -> Values:
    (values,) = jobset(cluster)
    assert isinstance(values, Values)
    return values


def job_controllers(text: str) -> str:
    """Returns the chapter of the README about controllers that gpuc does not install."""
    return text.partition(" Job controllers\n")[2].partition("\n### ")[0]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_cluster_has_it_only_if_its_spec_names_it(name: str) -> None:
    assert (COMPONENT in needed_components(example(name))) == ("jobset" in example(name).spec.components)


def test_it_compiles_without_findings() -> None:
    assert compiled().findings == compiled_example("prod-use1").findings == ()
    assert COMPONENT in needed_components(compiled().cluster)


def test_a_layer_can_set_the_version_for_clusters_without_the_component(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["components"] = {}
        remove_runtimes(spec)
        with_version(spec, "0.11.1")

    assert check(variant(change)) == []


def test_another_version_has_a_warning(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        with_jobset(spec)
        with_version(spec, "0.11.1")

    (finding,) = check(variant(change))
    assert finding.id == "VER101"


def test_the_values() -> None:
    values = values_of(compiled().cluster)
    assert values.body["image"] == {
        "repository": "registry.k8s.io/jobset/jobset",
        "tag": "v0.12.0",
        "pullPolicy": "IfNotPresent",
    }
    controller = values.body["controller"]
    assert controller["replicas"] == 2
    assert controller["podDisruptionBudget"] == {"enabled": True, "minAvailable": 1}
    assert values.pods == {("controller",): "system nodes"}


def test_the_image_has_the_version_of_the_chart(variant: Variant) -> None:
    def other_version(spec: dict[str, Any]) -> None:
        with_jobset(spec)
        with_version(spec, "0.12.1")

    assert values_of(variant(other_version)).body["image"]["tag"] == "v0.12.1"


def test_argo_cd_keeps_the_certificate_that_the_controller_writes() -> None:
    spec = manifest(compiled().artifacts, "Application", "prod-use1-jobset")["spec"]
    (chart,) = (source for source in spec["sources"] if "chart" in source)
    assert (chart["repoURL"], chart["chart"], chart["targetRevision"]) == (REPOSITORY, "jobset", "0.12.0")
    # The names of the ServiceAccount and of the Secret start with the name of the release.
    assert chart["helm"]["releaseName"] == "jobset"
    assert spec["destination"]["namespace"] == "jobset-system"
    ignored = {row["kind"]: row for row in spec["ignoreDifferences"]}
    assert ignored["Secret"] == {"kind": "Secret", "name": "jobset-webhook-server-cert", "jsonPointers": ["/data"]}
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert ignored[kind]["jqPathExpressions"] == [".webhooks[]?.clientConfig.caBundle"]
    assert "RespectIgnoreDifferences=true" in spec["syncPolicy"]["syncOptions"]


def test_the_project_allows_the_repository_only_with_the_component() -> None:
    def repositories(artifacts: tuple[Artifact, ...]) -> list[str]:
        return list(manifest(artifacts, "AppProject", "prod-use1")["spec"]["sourceRepos"])

    assert REPOSITORY in repositories(compiled().artifacts)
    assert REPOSITORY not in repositories(without().artifacts)


def test_the_readme_lists_the_chart_and_no_longer_the_prerequisite() -> None:
    def change(spec: dict[str, Any]) -> None:
        without_components(spec)
        with_jobset(spec)

    before, after = readme(without().artifacts), readme(compiled_with(change).artifacts)
    row = f"| jobset | jobset | 0.12.0 | {REPOSITORY} | jobset-system |"
    assert row in after and row not in before
    for text in ("JobSet", ACCOUNT, "jobsets.jobset.x-k8s.io"):
        assert text in job_controllers(before) and text not in job_controllers(after)
    assert "Kubeflow Trainer" in job_controllers(after)


def test_policies_know_its_service_account_without_a_setting() -> None:
    constraints = [item for item in compiled().artifacts if "policies/constraints/" in item.file]
    known = {
        item.kind: item.body["spec"]["parameters"]["controllers"]
        for item in constraints
        if isinstance(item, Manifest) and "controllers" in item.body["spec"].get("parameters", {})
    }
    assert known.keys() == {"GpucGpuQuota", "GpucOwnedWorkloads", "GpucQueueRequired"}
    assert all(f"system:serviceaccount:{ACCOUNT}" in users for users in known.values())


def test_prometheus_scrapes_the_service_of_the_controller() -> None:
    spec = manifest(compiled().artifacts, "ServiceMonitor", "gpuc-prod-use1-jobset")["spec"]
    assert spec["namespaceSelector"] == {"matchNames": ["jobset-system"]}
    labels = {"app.kubernetes.io/name": "jobset", "app.kubernetes.io/component": "controller"}
    assert spec["selector"]["matchLabels"] == labels
    (endpoint,) = spec["endpoints"]
    assert (endpoint["port"], endpoint["scheme"], endpoint["path"]) == ("https", "https", "/metrics")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("controller.leaderElection.enable", {"controller": {"leaderElection": {"enable": False}}}),
        ("certManager.enable", {"certManager": {"enable": True}}),
        ("nameOverride", {"nameOverride": "sets"}),
    ],
)
def test_a_default_that_gpuc_relies_on_stays(path: str, values: dict[str, Any]) -> None:
    with pytest.raises(StageError) as raised:
        compiled_with(lambda spec: with_jobset(spec, values=values))
    (finding,) = raised.value.findings
    assert finding.id == "VAL101" and f"{path} replaces a default" in finding.message


def test_missing_metrics_are_those_of_this_controller() -> None:
    (group,) = manifest(compiled().artifacts, "PrometheusRule", "gpuc-prod-use1-nodes")["spec"]["groups"]
    expressions = {rule["labels"].get("source"): rule["expr"] for rule in group["rules"]}
    assert expressions["jobset"] == f"absent({LEADER})"
