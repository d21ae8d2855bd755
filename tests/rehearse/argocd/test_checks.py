"""Checks of a run: failures with their messages, and correct runs without failures."""

import pytest
from msgspec.structs import replace

from gpuc_rehearsal.argocd.checks import (
    blocked_operations,
    early_waves,
    out_of_sync,
    pending_pods,
    refusals,
    unfinished,
)
from gpuc_rehearsal.argocd.timeline import State, Timeline
from tests.conformance.argocd_edits.deletions import ProtectedObject, unexpected_deletions
from tests.conformance.argocd_edits.edit_result import wait_times

GOOD = ("Synced", "Healthy", "Succeeded")
RUNS = ("OutOfSync", "Missing", "Running")


def state(at: float, name: str, wave: int | None, words: tuple[str, str, str] = RUNS, message: str = "") -> State:
    sync, health, phase = words
    return State(at, name, "prod", wave, sync, health, phase, message)


def ordered() -> list[State]:
    """Two waves, the second after the first was good."""
    return [
        state(0, "root", None),
        state(1, "crd", -20),
        state(5, "crd", -20, GOOD),
        state(7, "kueue", 10),
        state(9, "kueue", 10, GOOD),
        state(9, "root", None, GOOD),
    ]


def test_a_correct_run_has_no_failures() -> None:
    timeline = Timeline(ordered())
    assert [*unfinished(timeline, 10), *refusals(timeline), *blocked_operations(timeline, 10)] == []
    assert list(out_of_sync(timeline, 10)) == []
    assert early_waves(timeline) == ([], 0)


def test_an_application_that_is_not_good_at_the_end_is_a_failure_with_its_state() -> None:
    last = replace(state(11, "kueue", 10, ("OutOfSync", "Degraded", "Failed"), "no"), differing=("Deployment a/b",))
    (failure,) = unfinished(Timeline([*ordered(), last]), 12)
    assert (failure.application, failure.object, failure.at) == ("kueue", "Deployment a/b", 12)
    assert failure.message == "OutOfSync Degraded Failed: no"
    assert list(unfinished(Timeline([*ordered(), last]), 10)) == []


@pytest.mark.parametrize(
    ("states", "early", "regressions"),
    [
        ([state(1, "crd", -20), state(3, "kueue", 10), state(5, "crd", -20, GOOD)], ["Application crd"], 0),
        ([*ordered()[1:3], state(6, "crd", -20), state(7, "kueue", 10)], [], 1),
        ([*ordered()[1:3], state(6, "crd", -20), state(60, "kueue", 10)], ["Application crd"], 0),
    ],
)
def test_a_wave_must_be_good_shortly_before_the_next_one(
    states: list[State], early: list[str], regressions: int
) -> None:
    failures, found = early_waves(Timeline(states))
    assert ([failure.object for failure in failures], found) == (early, regressions)
    assert all("wave 10 began before wave -20" in failure.message for failure in failures)


def test_waves_before_the_previous_one_must_have_been_good_once() -> None:
    states = [*ordered(), state(20, "crd", -20), state(50, "tenants", 30), state(51, "kueue", 10, GOOD)]
    assert early_waves(Timeline(states))[0] == []
    never = [state(0, "crd", -20), state(1, "kueue", 10, GOOD), state(2, "tenants", 30)]
    assert ("tenants", "Application crd") in {(f.application, f.object) for f in early_waves(Timeline(never))[0]}


def test_waves_of_two_clusters_in_one_argo_cd_do_not_wait_for_one_another() -> None:
    other = replace(state(2, "b-kueue", 10), cluster="other")
    assert early_waves(Timeline([state(1, "a-crd", -20), other])) == ([], 0)


FAILED = "one or more objects failed to apply, reason: REASON. Retrying attempt #1 at 3:04PM."


@pytest.mark.parametrize(
    "reason",
    [
        'no matches for kind "ClusterIssuer" in version "cert-manager.io/v1"',
        "the server could not find the requested resource",
        'namespaces "logging" not found',
        'failed calling webhook "webhook.cert-manager.io": connection refused',
    ],
)
def test_b1_an_object_that_waits_for_its_kind_or_its_webhook_is_not_refused(reason: str) -> None:
    words = ("OutOfSync", "Missing", "Running")
    waiting = replace(
        state(1, "extra", 101, words, FAILED.replace("REASON", reason)), refused=(("ClusterIssuer internal", reason),)
    )
    assert refusals(Timeline([waiting])) == []
    both = replace(waiting, refused=(*waiting.refused, ("DaemonSet logging/agent", "DaemonSet is invalid: no")))
    assert [failure.object for failure in refusals(Timeline([both]))] == ["DaemonSet logging/agent"]


def test_b1_a_pod_without_a_node_is_a_failure_with_the_message_of_the_scheduler() -> None:
    text = "0/3 nodes are available: 3 node(s) had untolerated taint {CriticalAddonsOnly: true}."
    waits = {"conditions": [{"type": "PodScheduled", "status": "False", "message": text}]}
    metadata = {"namespace": "cert-manager", "name": "webhook"}
    pods = [{"metadata": metadata, "spec": {}, "status": waits}, {"metadata": metadata, "spec": {"nodeName": "n"}}]
    [failure] = pending_pods(pods, 9.0)
    assert (failure.kind, failure.object, failure.message) == ("pending", "Pod cert-manager/webhook", text)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("namespace research-lab is not permitted in project 'prod'. Retrying attempt #1 at 12:00AM.", "project"),
        ('one or more tasks failed, reason: ClusterPolicy.nvidia.com "x" is invalid: spec.mig. Retrying', "refused"),
        ("one or more objects failed to apply (dry run). Retrying attempt #1 at 3:04PM.", "refused"),
        ('admission webhook "validation.gatekeeper.sh" denied the request: no', "refused"),
    ],
)
def test_refusals_of_project_and_server_are_failures_once_for_all_attempts(message: str, kind: str) -> None:
    again = message.replace("#1", "#2")
    states = [state(1, "pools", 20, RUNS, message), state(61, "pools", 20, RUNS, again), state(99, "pools", 20, GOOD)]
    (failure,) = refusals(Timeline(states))
    assert (failure.kind, failure.application, failure.at) == (kind, "pools", 1)


def test_a_refused_object_replaces_the_message_of_the_operation() -> None:
    bad = replace(
        state(3, "pools", 20, RUNS, "one or more synchronization tasks: NodePool is invalid"),
        refused=(("NodePool dev-l4", 'NodePool.karpenter.sh "dev-l4" is invalid: spec'),),
    )
    (failure,) = refusals(Timeline([bad]))
    assert failure.object == "NodePool dev-l4"


def test_a_passing_timeout_is_no_refusal() -> None:
    slow = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    assert refusals(Timeline([state(1, "kueue", 10, RUNS, slow)])) == []


def test_an_object_that_differs_after_its_sync_is_a_failure_and_an_unpruned_object_is_not() -> None:
    differs = replace(
        state(4, "efa", 0, ("OutOfSync", "Healthy", "Succeeded")), differing=("DaemonSet kube-system/efa",)
    )
    left = state(4, "pools", 20, GOOD)
    (failure,) = out_of_sync(Timeline([differs, left]), 5)
    assert failure.object == "DaemonSet kube-system/efa"


def test_an_operation_that_waits_for_a_deletion_blocks_other_changes() -> None:
    words = "waiting for pruning confirmation of karpenter.sh/NodePool/dev-l4"
    states = [state(10, "pools", 20, RUNS, words), state(25, "pools", 20, RUNS, words), state(90, "pools", 20, GOOD)]
    (failure,) = blocked_operations(Timeline(states), 100)
    assert failure.at == 10
    assert failure.message == f"{words}, for 80 s"
    assert list(blocked_operations(Timeline(states[:1]), 25)) == []
    waits = state(0, "root", None, RUNS, "waiting for healthy state of x")
    assert list(blocked_operations(Timeline([waits]), 900)) == []


def test_only_a_commit_may_delete_a_protected_object() -> None:
    before = {
        "NodePool dev-l4": ProtectedObject("1", False, "Job lab/train"),
        "Namespace lab": ProtectedObject("2", False),
    }
    gone = {"Namespace lab": ProtectedObject("2", True)}
    names = {
        failure.object: failure.message for failure in unexpected_deletions(before, gone, [], "a pool is removed", 7)
    }
    assert names["NodePool dev-l4"] == "is gone while Job lab/train runs, but no commit removes the object"
    assert names["Namespace lab"].startswith("is being deleted")
    assert unexpected_deletions(before, before, [], "a pool is removed", 7) == []
    remade = {**before, "NodePool dev-l4": ProtectedObject("9", False)}
    (failure,) = unexpected_deletions(before, remade, [], "a pool is removed", 7)
    assert failure.message.startswith("was deleted and created again")
    assert unexpected_deletions(before, remade, ["NodePool dev-l4"], "a pool is removed", 7) == []


def test_waits_are_summed_by_application_and_message() -> None:
    states = [
        state(0, "pools", 20, RUNS, "waiting for healthy state of NodeOverlay a. Retrying attempt #1 at 3PM."),
        state(4, "pools", 20, RUNS, "waiting for healthy state of NodeOverlay a. Retrying attempt #2 at 4PM."),
        state(6, "pools", 20, GOOD),
        state(5, "root", None, RUNS, "waiting for healthy state of Application pools"),
    ]
    assert wait_times(Timeline(states), 1, 7) == (
        "pools: waiting for healthy state of NodeOverlay a. (retrying) (5.0 s)",
        "root: waiting for healthy state of Application pools (2.0 s)",
    )
