"""Finding 1: gpuc emits the ClusterPolicy, because server-side apply rejects the one that the chart renders."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.catalog import load
from gpuc.manifest.manifest import Values
from tests.conftest import EXAMPLES, example
from tests.emit import fleet

each_example = pytest.mark.parametrize("name", EXAMPLES)


def policy(name: str) -> Any:
    (found,) = (manifest for manifest in fleet.manifests(name) if manifest.kind == "ClusterPolicy")
    return found.body["spec"]


def values(name: str) -> Any:
    (found,) = (
        artifact
        for artifact in fleet.artifacts(name)
        if isinstance(artifact, Values) and artifact.component == "gpu-operator"
    )
    return found.body


def nulls(value: Any) -> bool:
    if isinstance(value, dict):
        return any(nulls(part) for part in value.values())
    return value is None or (isinstance(value, list) and any(nulls(part) for part in value))


@each_example
def test_finding_1_the_policy_has_no_null_and_no_strategy_for_all_nodes(name: str) -> None:
    assert not nulls(policy(name))
    assert "mig" not in policy(name), "the operator would give the strategy precedence over each pool's configuration"
    assert values(name)["clusterPolicy"] == {"deployCR": False}
    assert "mig" not in values(name)


@each_example
def test_operands_that_run_have_an_image_and_the_others_are_switched_off(name: str) -> None:
    spec = policy(name)
    switched = {operand: part["enabled"] for operand, part in spec.items() if "enabled" in part}
    for operand in (*(key for key, is_on in switched.items() if is_on), "validator"):
        if operand not in ("cdi", "psa"):
            assert {"repository", "image", "version"} <= spec[operand].keys(), operand
    # The GPU Operator enables these operands by default.
    assert {"driver", "toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "migManager", "cdi"} <= switched.keys()
    assert switched["driver"] == any(pool.image.driver == "operator" for pool in example(name).gpu_pools)
    assert switched["migManager"] == any(pool.mig_by_operator for pool in example(name).gpu_pools)


@each_example
def test_the_policy_names_the_config_maps_that_the_chart_makes(name: str) -> None:
    made = {
        part["config"]["name"]
        for part in values(name).values()
        if isinstance(part, dict) and part.get("config", {}).get("create")
    }
    named = {part["config"]["name"] for part in policy(name).values() if "config" in part}
    assert named == made
    default = policy(name)["devicePlugin"]["config"]["default"]
    assert default in values(name)["devicePlugin"]["config"]["data"]


def test_images_of_operands_are_those_of_the_chart(shared: Path) -> None:
    catalog = load()
    for version, operands in catalog.operands.items():
        text = (shared / f"upstream/charts/gpu-operator/{version}/values.yaml").read_text(encoding="utf-8")
        chart = yaml.safe_load(text)
        for place, row in operands.items():
            default = chart
            for step in place.split("."):
                default = default[step]
            # The validator uses the image of the operator, with the tag of the release.
            expected = (default["repository"], default["image"], default.get("version", version))
            assert (row.repository, row.image, row.tag) == expected, place


def test_the_image_of_the_driver_is_the_default_driver() -> None:
    catalog = load()
    for release in catalog.releases.values():
        operator = release["gpu-operator"]
        assert catalog.operands[operator.version]["driver"].tag == operator.default_driver


@each_example
def test_s4_the_policy_has_no_empty_value_that_the_api_server_could_default(name: str) -> None:
    def empty(value: Any) -> bool:
        if isinstance(value, dict):
            return not value or any(empty(part) for part in value.values())
        return value in ("", None, []) or (isinstance(value, list) and any(empty(part) for part in value))

    assert not empty(policy(name))


@each_example
def test_s6_the_cuda_workload_does_not_run_in_clusters_with_mps(name: str) -> None:
    shares = any(pool.mps_user is not None for pool in example(name).gpu_pools)
    env = policy(name)["validator"].get("cuda", {}).get("env", [])
    assert ({"name": "WITH_WORKLOAD", "value": "false"} in env) == shares


@each_example
def test_c26_no_difference_of_the_policy_is_ignored(name: str) -> None:
    (application,) = (found for found in fleet.manifests(name) if found.name == f"{name}-gpu-operator-config")
    assert "ignoreDifferences" not in application.body["spec"]
