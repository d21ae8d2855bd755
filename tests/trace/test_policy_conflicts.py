"""Requests that queues admit but policies refuse: each test changes a constraint of an example."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from gpuc.lint.checks.scheduling.policy_conflicts import policy_conflicts
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES, example
from tests.lanes import ci_share, some
from tests.lint.checks.sound import unsound
from tests.trace.test_unreachable_queues import STRANGE, all_objects, broken


def reported(manifests: list[Manifest]) -> list[ObjectFinding]:
    return list(policy_conflicts(ObjectSet(manifests, is_complete=True)))


def about(found: list[ObjectFinding]) -> list[ObjectFinding]:
    return [finding for finding in found if finding.rule.id in ("SCD008", "SCD009")]


def changed(name: str, kind: str, constraint: str, change: Callable[[Any], None]) -> list[ObjectFinding]:
    """The findings about queues and policies where one constraint's parameters are changed."""
    objects = broken(name, kind, constraint, lambda body: change(body["spec"].setdefault("parameters", {})))
    return about(reported(objects))


def queued(name: str, tenant: str) -> set[str]:
    """Returns the resources of the pools that Kueue counts for a tenant."""
    queues = next(found.queues for found in example(name).tenants if found.name == tenant)
    return {resource for queue in queues for pool in queue.pools for resource in pool.advertised_names}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_each_resource_that_a_queue_gives_has_to_be_allowed(name: str) -> None:
    constraints = [manifest for manifest in all_objects(name) if manifest.kind == "GpucGpuResources"]
    allowed = [
        (constraint, row)
        for constraint in constraints
        for row in constraint.body["spec"]["parameters"]["resources"]
        if row in queued(name, constraint.name.removeprefix("gpu-resources-"))
    ]
    assert len(allowed) >= 6
    for constraint, resource in allowed:
        found = changed(
            name, constraint.kind, constraint.name, lambda given, gone=resource: given["resources"].remove(gone)
        )
        expected = "SCD008" if constraint.body["spec"].get("enforcementAction") == "deny" else "SCD009"
        places = {(finding.rule.id, finding.manifest.name, finding.path) for finding in found}
        assert places == {(expected, constraint.name, ("spec", "parameters", "resources"))}
        assert all(resource in finding.message for finding in found)


def test_a_constraint_only_has_to_allow_what_its_own_tenants_are_given() -> None:
    more = changed(
        "prod-use1", "GpucGpuResources", "gpu-resources-research", lambda given: given["resources"].append("x/y")
    )
    assert more == []
    objects = [manifest for manifest in all_objects("prod-use1") if not manifest.kind.startswith("GpucGpuResources")]
    assert about(reported(objects)) == []


def test_the_pool_of_a_flavor_may_be_chosen() -> None:
    found = changed(
        "train-usw2", "GpucPoolSelector", "pool-selector-multimodal", lambda given: given["pools"].remove("core-b200")
    )
    assert {(finding.rule.id, finding.path) for finding in found} == {("SCD008", ("spec", "parameters", "pools"))}
    assert all("of flavor core-b200," in finding.message for finding in found)


def test_a_pod_of_one_device_is_not_too_large() -> None:
    def nothing(given: Any) -> None:
        given["limits"] = [{"pool": "", "resource": "nvidia.com/gpu", "most": 0}]

    found = changed("train-usw2", "GpucGpuLimits", "gpu-limits-safety", nothing)
    assert found
    assert {finding.path for finding in found} == {("spec", "parameters", "limits")}


def test_what_is_only_tried_out_is_not_reported() -> None:
    def dry(body: Any) -> None:
        body["spec"]["enforcementAction"] = "dryrun"
        body["spec"]["parameters"]["resources"] = []

    assert about(reported(broken("train-usw2", "GpucGpuResources", "gpu-resources-safety", dry))) == []


KINDS = ("GpucGpuResources", "GpucPoolSelector", "GpucQueueRequired", "GpucGpuLimits", "GpucTolerationFence")


@pytest.mark.share(5)
@pytest.mark.parametrize("kind", KINDS)
def test_strange_parameters_are_survived(kind: str) -> None:
    name = next(manifest.name for manifest in all_objects("train-usw2") if manifest.kind == kind)
    parts = ("parameters", "match", "enforcementAction")
    for part, value in some(ci_share(list(product(parts, STRANGE))[::2], 3), 4):
        objects = broken("train-usw2", kind, name, lambda body, row=(part, value): body["spec"].update([row]))
        assert unsound(reported(objects), objects) == []
