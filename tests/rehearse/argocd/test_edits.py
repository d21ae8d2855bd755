"""Edits with a simulated Argo CD that applies commits immediately, never, or incorrectly."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuc.cluster.application import application_in, applications
from gpuc.manifest.manifest import manifest_of
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.source import read
from gpuc_rehearsal.argocd.timeline import State, Watch
from gpuc_rehearsal.client import ApiError, new_object
from gpuc_rehearsal.substitute import simulated_document
from tests.conformance.argocd_edits import edit_runner, removals, sample_edits
from tests.conformance.argocd_edits.edit_runner import EditRunner, run_manual_edit, sample_manual_edits
from tests.conformance.argocd_edits.edit_schedule import EditSchedule, run_cluster_removal

PROD = "specs/prod-use1.yaml"
Key = tuple[str, str, str]


class Server:
    """An API server as a map; deletion is immediate."""

    def __init__(self) -> None:
        self.stored: dict[Key, dict[str, Any]] = {}
        self.heals: Callable[[], None] = lambda: None
        self._version = 0

    def put(self, document: dict[str, Any]) -> None:
        metadata = document["metadata"]
        key = document["kind"], metadata.get("namespace", ""), metadata["name"]
        known = self.stored.get(key)
        self._version += 1
        uid = known["metadata"]["uid"] if known else f"uid-{self._version}"
        self.stored[key] = {**document, "metadata": {**metadata, "uid": uid, "resourceVersion": str(self._version)}}

    def find(self, api: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        return self.stored.get((kind, namespace, name))

    def delete(self, api: str, kind: str, name: str, namespace: str = "", **options: Any) -> None:
        self.stored.pop((kind, namespace, name), None)
        if kind == "Namespace":
            self.stored = {key: found for key, found in self.stored.items() if key[1] != name}
        self.heals()

    def patch_object(self, document: dict[str, Any], changes: dict[str, Any]) -> None:
        metadata = document["metadata"]
        self.put(_merged(self.stored[document["kind"], metadata.get("namespace", ""), metadata["name"]], changes))
        self.heals()

    def list_all(self, api: str, kind: str, namespace: str = "", labels: str = "") -> list[dict[str, Any]]:
        return [found for (known, _, _), found in self.stored.items() if known == kind]

    def serves(self, api: str, kind: str) -> bool:
        return True


class Argo:
    """An Argo CD that applies the output of a commit, and keeps and lists objects with Prune=false."""

    def __init__(self, root: Path, server: Server) -> None:
        self.repository = SimpleNamespace(root=root, top=root, commit=self.commit)
        self.clusters = {"prod-use1": server}
        self.client = server
        self.not_rendered: dict[str, str] = {}
        self.messages: list[str] = []
        self.applies = True
        self.prunes_all = False
        self._compiled: dict[str, CompiledSpec] = {}

    def commit(self, message: str) -> str:
        self.messages.append(message)
        if self.applies:
            self.sync()
        return str(len(self.messages))

    def sync(self) -> None:
        server = self.clusters["prod-use1"]
        wanted = {}
        text = (self.repository.root / PROD).read_text(encoding="utf-8")
        if text not in self._compiled:
            self._compiled[text] = compiled_spec(self.repository.root, PROD)
        for manifest in self._compiled[text].synced:
            wanted[manifest.kind, manifest.namespace, manifest.name] = simulated_document(manifest)
        rows = []
        for key, known in list(server.stored.items()):
            if key not in wanted and key[0] != "Application":
                notes = known["metadata"].get("annotations", {})
                if "Prune=false" in notes.get("argocd.argoproj.io/sync-options", "") and not self.prunes_all:
                    group, _, version = known["apiVersion"].rpartition("/")
                    row = {"group": group, "version": version, "kind": key[0], "namespace": key[1], "name": key[2]}
                    rows.append({**row, "requiresPruning": True})
                else:
                    del server.stored[key]
        for key, document in wanted.items():
            if key not in server.stored or _written(server.stored[key]) != document:
                server.put(document)
        application = new_object("argoproj.io/v1alpha1", "Application", "all", spec={"project": "prod-use1"})
        server.stored["Application", "argocd", "all"] = {**application, "status": {"resources": rows}}

    def refresh(self, *names: str) -> None:
        if self.applies:
            self.sync()

    def require_alive(self) -> None: ...


class FakeWatch(Watch):
    """A watch whose clock runs only while it waits, so the speed of the machine does not matter."""

    _seconds = 0.0

    @property
    def now(self) -> float:
        return self._seconds

    def until(self, condition: Callable[[], bool], limit_s: float) -> float | None:
        started = self.now
        while not condition():
            if self.now - started > limit_s:
                return None
            self._seconds += limit_s / 2
        return self.now - started


def _written(stored: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in stored["metadata"].items() if key not in ("uid", "resourceVersion")}
    return {**stored, "metadata": metadata}


def _merged(old: Any, changes: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(changes, dict):
        return changes
    return {**old, **{key: _merged(old.get(key), value) for key, value in changes.items()}}


@pytest.fixture(autouse=True)
def _no_autoscaler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_runner, "update_instance_types", lambda *arguments: None)


@pytest.fixture
def argo(fleet: Path) -> Argo:
    made = Argo(fleet, Server())
    made.sync()
    return made


@pytest.fixture
def runner(argo: Argo) -> EditRunner:
    watch = FakeWatch(argo.client)  # type: ignore[arg-type]
    watch.timeline.add(State(0, "prod-use1-pools", "prod-use1", 20, "Synced", "Healthy", "Succeeded"))
    return EditRunner(argo, "prod-use1", PROD, watch, lambda step: None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_commit_is_timed_until_the_server_has_what_it_compiles_to(runner: EditRunner, argo: Argo) -> None:
    edit = runner.run_first("a pool grows", sample_edits.larger_pools(runner.spec.cluster))
    assert edit.change == "pools.general.nodes.max: 10 -> 11"
    assert "spec.limits.nodes 10 -> 11" in edit.object
    assert edit.seconds == 0
    assert argo.messages == ["a pool grows: pools.general.nodes.max: 10 -> 11"]


@pytest.mark.slow
def test_a_commit_that_is_not_applied_is_late_and_names_the_object(runner: EditRunner, argo: Argo) -> None:
    argo.applies = False
    edit = runner.run_first("a pool grows", sample_edits.larger_pools(runner.spec.cluster))
    assert edit.is_late
    assert edit.note == "not changed in time: NodePool general"


@pytest.mark.slow
def test_objects_of_applications_without_a_chart_are_not_awaited(runner: EditRunner, argo: Argo) -> None:
    argo.applies = False
    argo.not_rendered = {"prod-use1-karpenter-pools": "chart karpenter is missing"}
    edit = runner.run_first("a pool grows", sample_edits.larger_pools(runner.spec.cluster))
    assert (edit.is_late, edit.note) == (False, "")
    argo.not_rendered = {"prod-use1-kueue-queues": "chart kueue is missing"}
    edit = runner.run_first("a pool grows", sample_edits.larger_pools(runner.spec.cluster))
    assert edit.note == "not changed in time: NodePool general"


def test_an_edit_that_does_not_compile_is_skipped_with_the_compilers_message(runner: EditRunner, argo: Argo) -> None:
    before = runner.spec_text
    bad = sample_edits.SampleEdit(
        "pools.general.nodes.max: 10 -> -1", {("spec", "pools", "general", "nodes", "max"): -1}
    )
    edit = runner.run_first("a pool grows", [bad])
    assert edit.skipped.startswith("pools.general.nodes.max: 10 -> -1: ")
    assert runner.spec_text == before
    assert argo.messages == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prod-use1", "infer-euw1", "train-usw2"])
def test_every_edit_of_a_spec_is_possible_in_the_example_clusters(name: str, fleet: Path) -> None:
    server = Server()
    argo = Argo(fleet, server)
    argo.clusters[name] = server
    runner = EditRunner(argo, name, f"specs/{name}.yaml", FakeWatch(server), print)  # type: ignore[arg-type]
    for generate in (
        sample_edits.larger_pools,
        sample_edits.instance_type_changes,
        sample_edits.stricter_policies,
        sample_edits.renamed_tenants,
    ):
        before = runner.spec_text
        assert any(not runner.try_change(sample.edits) for sample in generate(runner.spec.cluster)), generate.__name__
        (fleet / runner.file).write_text(before, encoding="utf-8")


def test_manual_edits_are_reverted_or_late(runner: EditRunner, argo: Argo) -> None:
    edits = list(sample_manual_edits(runner))
    assert len(edits) == 5
    argo.clusters["prod-use1"].heals = argo.sync
    assert [run_manual_edit(runner, edit).note for edit in edits] == ["healed"] * 5
    argo.clusters["prod-use1"].heals = lambda: None
    assert all(run_manual_edit(runner, edit).is_late for edit in edits)


def test_a_manual_edit_that_a_policy_refuses_is_not_a_failure(
    runner: EditRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise ApiError(403, "ValidatingAdmissionPolicy refuses")

    monkeypatch.setattr(Server, "patch_object", refuse)
    edit = run_manual_edit(runner, next(sample_manual_edits(runner)))
    assert edit.note == "refused: ValidatingAdmissionPolicy refuses"
    assert not edit.is_late


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pool", "tenant"])
def test_an_element_is_removed_in_two_commits_and_added_again(
    kind: str, runner: EditRunner, argo: Argo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removals, "start_job", lambda *arguments: "no Job runs")
    argo.clusters["prod-use1"].heals = argo.sync
    removals_of = {"pool": sample_edits.removable_pools, "tenant": sample_edits.removable_tenants}[kind]
    before = read(runner.argocd.repository.root, PROD).tree
    executed = list(removals.run_removal(runner, kind, removals_of(runner.spec.cluster)))
    assert [edit.name for edit in executed if edit.is_late or edit.skipped] == []
    assert runner.failures == []
    assert any("is removed" in edit.name for edit in executed)
    cleared = next(edit for edit in executed if "are deleted" in edit.name)
    assert cleared.object
    assert list(removals.unpruned_objects(runner)) == []
    after = read(runner.argocd.repository.root, PROD).tree["spec"]
    assert {**after, "pools": None} == {**before["spec"], "pools": None}  # another pool grew meanwhile
    assert after["pools"].keys() == before["spec"]["pools"].keys()


@pytest.mark.slow
def test_a_pruned_object_with_workloads_is_a_failure(
    runner: EditRunner, argo: Argo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removals, "start_job", lambda *arguments: "no Job runs")
    argo.clusters["prod-use1"].heals = argo.sync
    argo.prunes_all = True
    list(removals.run_removal(runner, "queue", sample_edits.removable_queues(runner.spec.cluster)))
    kinds = {(failure.kind, failure.object) for failure in runner.failures}
    assert ("deleted", "ClusterQueue search") in kinds
    assert ("leftover", "ClusterQueue search") in kinds


@pytest.mark.slow
def test_an_invalid_commit_is_fixed_in_the_same_file(runner: EditRunner) -> None:
    pool = runner.argocd.repository.root / "out/prod-use1/karpenter/pools/general.yaml"
    runner.try_change({})
    refused, fixed = EditSchedule(runner)._invalid_commit()
    assert refused.is_late  # the simulated Argo CD refuses nothing
    assert fixed.seconds is not None
    assert "Sometimes" not in pool.read_text(encoding="utf-8")


class ArgoWithFiles(Argo):
    """An Argo CD that reports a ComparisonError for all Applications with files in Git while the files are missing."""

    watch: FakeWatch | None = None
    prunes_without_files = False
    heals_without_files = False

    def sync(self) -> None:
        server = self.clusters["prod-use1"]
        has_files = (self.repository.root / PROD).exists()
        if has_files:
            super().sync()
        elif self.prunes_without_files:
            server.stored = {key: found for key, found in server.stored.items() if key[0] != "ClusterQueue"}
        elif self.heals_without_files:
            for manifest in next(iter(self._compiled.values())).synced:
                if manifest.kind == "NodePool":
                    server.put(simulated_document(manifest))
            return
        for (kind, _, name), found in server.stored.items():
            if kind == "Application" and self.watch:
                is_compared = has_files or not application_in(manifest_of(found)).git_sources
                conditions = () if is_compared else (("ComparisonError", "app path does not exist"),)
                sync = "Synced" if is_compared else "Unknown"
                state = State(0, name, "prod-use1", 20, sync, "Healthy", "Succeeded", conditions=conditions)
                self.watch.timeline.add(state)


@pytest.fixture
def runner_with_files(fleet: Path) -> EditRunner:
    argo = ArgoWithFiles(fleet, Server())
    argo.watch = FakeWatch(argo.client)  # type: ignore[arg-type]
    argo.sync()
    argo.clusters["prod-use1"].heals = argo.sync
    runner = EditRunner(argo, "prod-use1", PROD, argo.watch, lambda step: None)  # type: ignore[arg-type]
    assert runner.try_change({}) == []  # compiles the output
    return runner


@pytest.mark.slow
def test_a_cluster_that_is_removed_from_git_stays_as_it_is(runner_with_files: EditRunner) -> None:
    runner = runner_with_files
    root = runner.argocd.repository.root
    before = {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}
    removed, added = run_cluster_removal(runner)
    assert removed.change == "specs/prod-use1.yaml, out/prod-use1, clusters/prod-use1"
    count = len(applications(runner.spec.synced))
    assert (
        f"{count - 1} of {count - 1} Applications report ComparisonError; without files in Git: all, " in removed.note
    )
    assert removed.note.endswith(" objects stay")
    assert "the manual edit is reverted: limits.nodes" in added.note
    assert (removed.is_late, added.is_late, runner.failures) == (False, False, [])
    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == before


@pytest.mark.slow
def test_objects_that_argo_cd_deletes_without_files_are_failures(runner_with_files: EditRunner) -> None:
    runner_with_files.argocd.prunes_without_files = True  # type: ignore[attr-defined]
    list(run_cluster_removal(runner_with_files))
    queues = [manifest for manifest in runner_with_files.spec.synced if manifest.kind == "ClusterQueue"]
    found = [(failure.kind, failure.object) for failure in runner_with_files.failures]
    assert set(found) == {("deleted", f"ClusterQueue {queue.name}") for queue in queues}


@pytest.mark.slow
def test_a_manual_edit_that_argo_cd_reverts_without_files_is_a_failure(runner_with_files: EditRunner) -> None:
    runner_with_files.argocd.heals_without_files = True  # type: ignore[attr-defined]
    removed, _ = run_cluster_removal(runner_with_files)
    assert removed.is_late
    assert "0 of " in removed.note
    assert "without an error: prod-use1-gatekeeper" in removed.note
    assert [failure.kind for failure in runner_with_files.failures] == ["reverted"]
