"""Health checks in Lua, in an interpreter with the same libraries as in Argo CD.

Source: argoproj/argo-cd v3.5.1 util/lua/lua.go (runLua): base, package, table and a part of os
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest
import yaml
from lupa import lua51

from gpuc.manifest.manifest import Text
from tests.conftest import EXAMPLES
from tests.emit import fleet

CHART: dict[str, Any] = {"repoURL": "https://charts.example.com", "chart": "kueue", "targetRevision": "0.19.2"}
VALUES: dict[str, Any] = {"repoURL": "https://git.example.com/fleet.git", "targetRevision": "main", "ref": "values"}
FOLDER: dict[str, Any] = {"repoURL": "https://git.example.com/fleet.git", "targetRevision": "main", "path": "out/a/b"}


@cache
def checks() -> dict[str, str]:
    """Returns the Lua scripts by kind. They are the same in all example clusters."""
    texts = [
        artifact.text
        for artifact in fleet.artifacts(EXAMPLES[0])
        if isinstance(artifact, Text) and "health" in artifact.file
    ]
    found = {}
    for key, lua in yaml.safe_load(texts[0])["configs"]["cm"].items():
        if key.startswith("resource.customizations.health."):
            found[key.removeprefix("resource.customizations.health.")] = lua
    return found


def health(kind: str, obj: dict[str, Any]) -> tuple[str, str]:
    """Returns status and message of the health check for an object."""
    runtime = lua51.LuaRuntime(unpack_returned_tuples=True)
    for library in ("string", "math", "io", "debug"):
        runtime.globals()[library] = None
    unshared = json.loads(json.dumps(obj))  # a dict that occurs twice becomes an empty table
    runtime.globals()["obj"] = runtime.table_from(unshared, recursive=True)
    result = runtime.execute(checks()[kind])
    return result["status"], result["message"]


def application(**status: Any) -> dict[str, Any]:
    """Returns an Application that is Synced and Healthy, with changes to its status."""
    return {
        "spec": {"sources": [copy.deepcopy(CHART), copy.deepcopy(VALUES)]},
        "status": {
            "health": {"status": "Healthy"},
            "sync": {"status": "Synced", "comparedTo": {"sources": [CHART, VALUES]}},
            "operationState": {"phase": "Succeeded", "message": "successfully synced"},
            "resources": [{"kind": "Deployment", "name": "kueue", "status": "Synced"}],
            **status,
        },
    }


def out_of_sync(*resources: dict[str, Any]) -> dict[str, Any]:
    """Returns the parts of a status in which these resources are OutOfSync."""
    listed = [{"kind": "NodePool", "status": "OutOfSync", **resource} for resource in resources]
    return {"sync": {"status": "OutOfSync", "comparedTo": {"sources": [CHART, VALUES]}}, "resources": listed}


def verdict(**status: Any) -> str:
    return health("argoproj.io_Application", application(**status))[0]


def test_an_application_that_is_synced_and_healthy_is_healthy() -> None:
    assert verdict() == "Healthy"
    assert verdict(operationState=None) == "Healthy", "found in sync before any sync, as after an import"


def test_an_application_with_one_source_is_compared_by_that_source() -> None:
    single = application(sync={"status": "Synced", "comparedTo": {"source": FOLDER}})
    single["spec"] = {"source": FOLDER}
    assert health("argoproj.io_Application", single)[0] == "Healthy"
    single["spec"] = {"source": {**FOLDER, "path": "out/a/c"}}
    assert health("argoproj.io_Application", single)[0] == "Progressing"


def test_c5_a_version_that_was_not_compared_yet_is_not_healthy() -> None:
    """C5, first row: the root has just written another targetRevision."""
    stale = application()
    stale["spec"]["sources"][0]["targetRevision"] = "0.20.0"
    status, message = health("argoproj.io_Application", stale)
    assert (status, message) == ("Progressing", "Argo CD has not compared the present sources yet")
    stale["spec"]["sources"].append(FOLDER)
    assert health("argoproj.io_Application", stale)[0] == "Progressing"


def test_c5_a_comparison_that_found_changes_is_not_healthy() -> None:
    """C5, second row: refreshed and OutOfSync, the automatic sync has not started."""
    assert verdict(**out_of_sync({"name": "general"})) == "Progressing"


def test_c5_a_running_sync_is_not_healthy() -> None:
    """C5, third row."""
    assert verdict(operationState={"phase": "Running", "message": "waiting"}) == "Progressing"
    assert verdict(operationState={"phase": "Running"}, health={"status": "Degraded"}) == "Progressing"
    assert verdict(operationState={"phase": "Terminating"}) == "Progressing"


def test_finding_6_a_sync_that_succeeded_after_the_comparison_is_not_healthy() -> None:
    """Finding 6, second cause: phase Succeeded and health Healthy, but the comparison is older than the sync."""
    status, message = health("argoproj.io_Application", application(**out_of_sync({"name": "general"})))
    assert (status, message) == ("Progressing", "not in sync: NodePool general")


def test_finding_6_between_two_operations_an_application_is_not_healthy() -> None:
    """Finding 6, third window: a new operation replaces the state of the last one."""
    begun = application(operationState=None)
    begun["operation"] = {"sync": {"revision": "abc"}}
    assert health("argoproj.io_Application", begun)[0] == "Progressing"


def test_finding_6_objects_that_wait_for_pruning_hold_nothing_up() -> None:
    """A removed pool is OutOfSync and requires pruning; with IgnoreExtraneous its Application is Synced."""
    left = {"name": "old", "requiresPruning": True}
    assert verdict(**out_of_sync(left)) == "Healthy"
    assert verdict(resources=[{"kind": "NodePool", "status": "OutOfSync", **left}]) == "Healthy"
    assert verdict(**out_of_sync(left, {"name": "general"})) == "Progressing"


def test_what_was_not_compared_is_not_healthy() -> None:
    assert health("argoproj.io_Application", {"spec": {"sources": [CHART]}})[0] == "Progressing"
    assert verdict(health={}) == "Progressing"
    assert verdict(sync={"status": "Unknown", "comparedTo": {"sources": [CHART, VALUES]}}) == "Progressing"
    assert verdict(**out_of_sync()) == "Progressing"


def test_finding_7_what_cannot_be_compared_or_fails_again_ends_the_wait_of_the_root() -> None:
    """The root syncs a new commit only after its last sync: it must not wait forever for a failed Application."""
    broken = [{"type": "ComparisonError", "message": "chart not found"}]
    assert verdict(conditions=broken) == "Degraded"
    assert verdict(conditions=[{"type": "OrphanedResourceWarning", "message": "3 orphans"}]) == "Healthy"
    assert verdict(operationState={"phase": "Running", "retryCount": 1}) == "Progressing"
    assert verdict(operationState={"phase": "Running", "retryCount": 2, "message": "refused"}) == "Degraded"
    assert verdict(operationState={"phase": "Failed"}, **out_of_sync({"name": "general"})) == "Degraded"


def test_a_terminated_sync_is_healthy_if_everything_is_applied() -> None:
    assert verdict(operationState={"phase": "Failed", "message": "Operation terminated"}) == "Healthy"


def test_a_queue_that_is_held_by_hand_does_not_hold_the_root() -> None:
    assert verdict(health={"status": "Suspended"}) == "Healthy"
    assert verdict(health={"status": "Degraded", "message": "no flavor"}) == "Degraded"
    assert verdict(health={"status": "Missing"}) == "Progressing"


CONFLICT = {"code": "update_error", "message": "the object has been modified"}
EXISTS = 'validatingadmissionpolicies.admissionregistration.k8s.io "gatekeeper-gpuclimits" already exists'
LOST_RACE = {"code": "create_error", "message": f"Could not create VAP object: {EXISTS}"}
UNUSABLE = {"code": "create_error", "message": "template has no target"}


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([CONFLICT], ("Progressing", CONFLICT["message"])),
        ([LOST_RACE], ("Progressing", LOST_RACE["message"])),
        ([UNUSABLE], ("Degraded", UNUSABLE["message"])),
        ([CONFLICT, UNUSABLE], ("Degraded", UNUSABLE["message"])),
    ],
)
def test_a_template_waits_for_a_lost_race_and_not_for_a_template_that_is_wrong(
    errors: list[dict[str, str]], expected: tuple[str, str]
) -> None:
    """With Progressing forever, the root would not sync the commit that corrects the template."""
    status = {"created": True, "byPod": [{"errors": [error]} for error in errors]}
    checked = {"metadata": {"name": "gpuclimits"}, "status": status}
    assert health("templates.gatekeeper.sh_ConstraintTemplate", checked) == expected


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_queues_are_healthy_when_active(kind: str) -> None:
    def queue(active: str, **spec: Any) -> str:
        conditions = [{"type": "Active", "status": active, "message": "why"}]
        return health(f"kueue.x-k8s.io_{kind}", {"spec": spec, "status": {"conditions": conditions}})[0]

    assert health(f"kueue.x-k8s.io_{kind}", {"spec": {}})[0] == "Progressing"
    assert queue("True") == "Healthy"
    assert queue("False") == "Degraded"
    assert queue("False", stopPolicy="Hold") == "Suspended"


def test_other_kinds_are_healthy_when_their_controllers_report_so() -> None:
    overlay = "karpenter.sh_NodeOverlay"
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "message": ""}]}}
    assert health(overlay, {})[0] == "Progressing" and health(overlay, ready)[0] == "Healthy"
    template = "templates.gatekeeper.sh_ConstraintTemplate"
    assert health(template, {"status": {"created": True}})[0] == "Healthy"
    fault = {"status": {"created": True, "byPod": [{"errors": [{"message": "no such function"}]}]}}
    assert health(template, fault) == ("Degraded", "no such function")
    policy = "nvidia.com_ClusterPolicy"
    assert [health(policy, {"status": {"state": state}})[0] for state in ("ready", "notReady", "ignored")] == [
        "Healthy",
        "Progressing",
        "Degraded",
    ]
