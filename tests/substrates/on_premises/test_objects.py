"""The objects of clusters on premises: what rules give to nodes, who tolerates their taints, and upstream's schemas."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest

from gpuc.kubernetes.toleration import untolerated
from gpuc.manifest.manifest import Manifest, Values
from gpuc.objects.selectors import tolerations
from gpuc.substrates.on_premises.node_names import all_names
from gpuc_rehearsal.substrates.on_premises import NODES
from tests.conftest import MACHINE_CLUSTERS, compiled_example, example

Object = dict[str, Any]


def objects(cluster: str, kind: str) -> list[Manifest]:
    return [manifest for manifest in compiled_example(cluster).synced if manifest.kind == kind]


def nodes(cluster: str) -> dict[str, Object]:
    return {node["metadata"]["name"]: node for node in NODES.nodes(example(cluster))}


def test_ranges_mean_their_names() -> None:
    assert list(all_names(["gpu-a[09-11]", "n[1-2]-x[0-1]", "gpu-a10"])) == [
        *("gpu-a09", "gpu-a10", "gpu-a11", "n1-x0", "n1-x1", "n2-x0", "n2-x1"),
    ]
    assert all_names(["a", "b[1-2]", "a"]) == {"a": 0, "b1": 1, "b2": 1}


def test_nodes_get_rack_proof_and_exclusion() -> None:
    found = nodes("hall-fra1")
    assert len(found) == 16
    for name, node in found.items():
        labels = node["metadata"]["labels"]
        assert labels["gpuc.dev/rack"] == name[len("gpu-")]
        assert labels["gpuc.dev/server-proven"] == labels["gpuc.dev/server-type"] == "xe9680-h100"
        keys = {taint["key"] for taint in node["spec"]["taints"]}
        assert keys == {"nvidia.com/gpu", "gpuc.dev/mode", *(["gpuc.dev/excluded"] if name == "gpu-b03" else [])}
    (rule,) = objects("hall-fra1", "NodeFeatureRule")
    assert rule.annotations["gpuc.dev/why"] == "gpu-b03 is excluded: RMA 1234, until the new baseboard arrives"
    assert "Prune=false" in rule.annotations["argocd.argoproj.io/sync-options"]


@pytest.mark.parametrize("cluster", MACHINE_CLUSTERS)
def test_agents_tolerate_all_taints(cluster: str) -> None:
    """The workers of node feature discovery run on all nodes of pools, the other agents on those with GPUs."""
    artifacts = compiled_example(cluster).artifacts
    (values,) = (row for row in artifacts if isinstance(row, Values) and row.component == "gpu-operator")
    discovery = values.body["node-feature-discovery"]
    assert discovery["postDeleteCleanup"] is False
    assert discovery["master"]["config"] == {"enableTaints": True}
    (policy,) = objects(cluster, "ClusterPolicy")
    for pool in example(cluster).pools:
        assert "gpuc.dev/excluded" in {taint.key for taint in pool.agent_taints}
        assert untolerated(pool.agent_taints, tolerations(discovery["worker"]["tolerations"])) is None
        if pool.is_gpu:
            assert untolerated(pool.agent_taints, tolerations(policy.body["spec"]["daemonsets"]["tolerations"])) is None


@pytest.mark.parametrize(
    ("cluster", "driver"),
    [("lab-dc1", None), ("onprem-lab1", (1, 1)), ("hall-fra1", (2, 3))],
)
def test_upgrades_of_the_driver_are_bound_to_the_spares(cluster: str, driver: tuple[int, int] | None) -> None:
    """At a time as many as there are spares, at least one; an excluded node adds to the unavailable ones."""
    (policy,) = objects(cluster, "ClusterPolicy")
    spec = policy.body["spec"]["driver"]
    assert spec["enabled"] is (driver is not None)
    if driver is not None:
        upgrades = spec["upgradePolicy"]
        assert (upgrades["maxParallelUpgrades"], upgrades["maxUnavailable"]) == driver
        assert upgrades["waitForCompletion"]["podSelector"] == "kueue.x-k8s.io/podset"


def test_only_nodes_with_the_driver_of_their_host_refuse_driver_pods() -> None:
    label = "nvidia.com/gpu.deploy.driver"
    found = {name: node["metadata"]["labels"].get(label) for name, node in nodes("onprem-lab1").items()}
    assert found == {"gpu01": None, "gpu02": None, "gpu03": "false", "gpu04": "false"}


def oracle() -> ModuleType:
    file = Path(os.environ["GPUC_SHARED"]) / "oracles/on_premises/validate.py"
    spec = importlib.util.spec_from_file_location("validate", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif("GPUC_SHARED" not in os.environ, reason="GPUC_SHARED is not set: upstream's CRDs are not at hand")
def test_objects_have_the_form_of_upstream() -> None:
    pytest.importorskip("jsonschema", reason="the oracle imports jsonschema")
    schemas, seen = oracle().load_crds(), set()
    for cluster in MACHINE_CLUSTERS:
        for manifest in compiled_example(cluster).synced:
            schema = schemas.get((manifest.api, manifest.kind))
            if schema is not None:
                seen.add(manifest.kind)
                assert [*jsonschema_rs.validator_for(schema[0]).iter_errors(manifest.document())] == []
    assert {"ClusterPolicy", "NodeFeatureRule"} <= seen
