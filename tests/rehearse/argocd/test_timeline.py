"""States of Application objects and their timeline."""

from collections.abc import Iterator
from typing import Any

from gpuc_rehearsal.argocd.timeline import State, Timeline, Watch, state_of
from gpuc_rehearsal.client import ApiError


def application(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "prod-kueue", "annotations": {"argocd.argoproj.io/sync-wave": "10"}},
        "spec": {"project": "prod"},
        "status": status,
    }


def state(at: float, words: str, name: str = "prod-kueue") -> State:
    sync, health, phase = words.split()
    return State(at=at, name=name, sync=sync, health=health, phase=phase)


def test_an_application_without_a_status_was_not_compared() -> None:
    shown = state_of({"metadata": {"name": "prod-root"}, "spec": {"project": "prod"}}, 1.5)
    assert (shown.at, shown.cluster, shown.wave, shown.sync, shown.phase) == (1.5, "prod", None, "", "")
    assert str(shown) == "not compared yet"
    assert not shown.is_good


def test_b1_an_application_of_users_belongs_to_its_cluster() -> None:
    chart = {"metadata": {"name": "prod-cert-manager"}, "spec": {"project": "prod-cert-manager"}}
    assert state_of(chart, 1.0, ["dev", "prod"]).cluster == "prod"
    assert state_of(chart, 1.0, ["prod", "prod-cert"]).cluster == "prod-cert"
    assert state_of(chart, 1.0, ["pro"]).cluster == "prod-cert-manager"


def test_the_state_lists_objects_by_their_status() -> None:
    shown = state_of(
        application(
            sync={"status": "OutOfSync"},
            health={"status": "Healthy"},
            conditions=[{"type": "SyncError", "message": "no"}],
            resources=[
                {"kind": "NodePool", "name": "general", "status": "Synced"},
                {"kind": "NodePool", "name": "dev-l4", "status": "OutOfSync"},
                {
                    "kind": "LocalQueue",
                    "namespace": "lab",
                    "name": "old",
                    "status": "OutOfSync",
                    "requiresPruning": True,
                },
            ],
            operationState={
                "phase": "Failed",
                "message": "one or more tasks failed",
                "syncResult": {
                    "resources": [
                        {"kind": "NodePool", "name": "dev-l4", "status": "SyncFailed", "message": "is invalid"},
                        {"kind": "Job", "namespace": "x", "name": "hook", "hookPhase": "Failed", "message": "exit 1"},
                        {"kind": "NodePool", "name": "general", "status": "Synced"},
                    ]
                },
            },
        ),
        2.0,
    )
    assert shown.wave == 10
    assert shown.differing == ("NodePool dev-l4",)
    assert shown.refused == (("NodePool dev-l4", "is invalid"), ("Job x/hook", "exit 1"))
    assert shown.conditions == (("SyncError", "no"),)


def test_equal_states_are_one_and_the_first_good_one_counts() -> None:
    words = (
        "OutOfSync Missing Running",
        "OutOfSync Missing Running",
        "Synced Healthy Succeeded",
        "Synced Degraded Failed",
    )
    timeline = Timeline(state(at, text) for at, text in enumerate(words, 1))
    assert [known.at for known in timeline] == [1, 3, 4]
    assert next(state.at for state in timeline.of("prod-kueue") if state.is_good) == 3
    assert [end for _, end in timeline.spans("prod-kueue", 9)] == [3, 4, 9]
    assert timeline.at(3.5)["prod-kueue"].is_good
    assert timeline.at(0.5) == {}


def test_a_deleted_application_does_not_exist() -> None:
    timeline = Timeline([state(1, "Synced Healthy Succeeded"), State(at=5, name="prod-kueue", exists=False)])
    assert timeline.last == {}
    assert "prod-kueue" in timeline.at(4)
    assert timeline.at(5) == {}


class Applications:
    """A client whose watch ends with an error after some changes."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    def list_with_version(self, *_: str) -> tuple[list[dict[str, Any]], str]:
        return ([] if self.versions else [application()]), f"listed-{len(self.versions)}"

    def watch(self, api: str, kind: str, namespace: str, version: str, limit_s: int) -> Iterator[tuple[str, Any]]:
        self.versions.append(version)
        changed = application(sync={"status": "Synced"})
        changed["metadata"]["resourceVersion"] = f"changed-{len(self.versions)}"
        if len(self.versions) < 3:
            yield "MODIFIED", changed
        if len(self.versions) == 2:
            raise ApiError(410, "the resource version is too old")


def test_the_watch_continues_and_lists_again_after_an_error() -> None:
    client = Applications()
    with Watch(client) as watch:  # type: ignore[arg-type]
        assert watch.until(lambda: len(client.versions) > 2, 60) is not None
    assert client.versions[:3] == ["listed-0", "changed-1", "listed-2"]
    assert [(known.sync, known.exists) for known in watch.timeline] == [("", True), ("Synced", True), ("", False)]
