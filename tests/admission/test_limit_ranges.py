"""LimitRanges: defaults and bounds."""

from typing import Any

import pytest

from gpuc.admission.limit_ranges import limit_range_decisions
from gpuc.admission.mutating import mutated
from gpuc.admission.request import Decision
from gpuc.manifest.manifest import Manifest
from tests.admission.cluster import container, manifest, objects, pod
from tests.tables import table

CASES = table(__file__, "refused.yaml")["limit_ranges"]


def _range(name: str = "limits", **limit: Any) -> Manifest:
    return manifest("v1", "LimitRange", name, {"spec": {"limits": [{"type": "Container", **limit}]}})


def _decisions(*ranges: Manifest, **spec: Any) -> list[Decision]:
    tree = objects(*ranges)
    containers = spec.pop("containers", None) or [container(resources=spec.pop("resources", {}))]
    return list(limit_range_decisions(tree, mutated(tree, pod(*containers, **spec))))


@pytest.mark.parametrize("name", CASES)
def test_c27_bounds(name: str) -> None:
    limit, resources, message = CASES[name]
    (decision,) = _decisions(_range(**limit), resources=resources)
    assert decision.outcome == "denied"
    assert decision.message == message
    assert decision.check == "LimitRange team/limits"
    assert decision.fix


def test_equal_bounds_are_allowed() -> None:
    limit = {"min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2"}}
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    assert [row.outcome for row in _decisions(_range(**limit), resources=resources)] == ["allowed"]


def test_the_maximum_is_the_default_limit_and_request() -> None:
    tree = objects(_range(max={"cpu": "2"}))
    spec = mutated(tree, pod()).document["spec"]
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}


def test_the_limit_of_a_container_is_its_request_before_a_default() -> None:
    tree = objects(_range(defaultRequest={"cpu": "100m"}))
    spec = mutated(tree, pod(container(resources={"limits": {"cpu": "4"}}))).document["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "4"}


def test_a_pod_counts_its_largest_init_container_and_all_sidecars() -> None:
    one = {"resources": {"requests": {"cpu": "1"}}}
    three = {"resources": {"requests": {"cpu": "3"}}}
    limit = _range(type="Pod", min={"cpu": "5"})
    init = [container(**one, restartPolicy="Always"), container(**three)]
    (decision,) = _decisions(limit, containers=[container(**one)], initContainers=init)
    assert decision.message == "the pod requests 4 cpu; the minimum is 5"
    init.append(container(**one, restartPolicy="Always"))
    (decision,) = _decisions(limit, containers=[container(**three)], initContainers=init)
    assert decision.outcome == "allowed"


def test_resources_of_the_pod_replace_those_of_its_containers() -> None:
    limit = _range(type="Pod", max={"cpu": "2"})
    resources = {"limits": {"cpu": "3"}}
    (decision,) = _decisions(limit, containers=[container()], resources=resources)
    assert decision.message == "the pod has a limit of 3 cpu; the maximum is 2"


def test_different_defaults_of_two_limit_ranges_are_unknown() -> None:
    first, second = _range("a", default={"cpu": "1"}), _range("b", default={"cpu": "2"})
    assert "unknown" in [row.outcome for row in _decisions(first, second)]


def test_other_types_and_namespaces_do_not_count() -> None:
    claims = _range(type="PersistentVolumeClaim", max={"storage": "1Gi"})
    assert [row.outcome for row in _decisions(claims)] == ["allowed"]
