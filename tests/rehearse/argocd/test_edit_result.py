"""The objects that an edit changes: changed, pruned and unpruned objects, and whether the API server has them."""

from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.substitute import simulated_document
from gpuc_rehearsal.transition.synced_changes import ObjectKey, key_of
from tests.conformance.argocd_edits.edit_result import EditResult, is_applied, object_changes
from tests.conformance.argocd_edits.sample_edits import apply_edits
from tests.conftest import compiled_example
from tests.rehearse.conftest import StoredObjects

PROD = "specs/prod-use1.yaml"
POOL = ObjectKey("karpenter.sh/v1", "NodePool", "general")


def manifest(name: str, spec: dict[str, Any], **annotations: str) -> Manifest:
    return Manifest("f", (), "v1", "Thing", name, {"spec": spec}, annotations=annotations)


def test_a_larger_pool_changes_the_limits_of_its_node_pool(fleet: Any) -> None:
    before = compiled_example("prod-use1")
    apply_edits(fleet, PROD, {("spec", "pools", "general", "nodes", "max"): 11})
    change = object_changes(before.synced, compiled_spec(fleet, PROD).synced)
    assert change.pruned == change.unpruned == []
    assert "spec.limits.nodes 10 -> 11" in change.lines[POOL]
    assert "NodePool general: spec.limits" in change.summary(POOL)
    assert all(not found.api.startswith("argoproj.io/") for found in change.written)


def test_an_object_is_applied_if_the_server_has_its_fields_after_substitution() -> None:
    pool = next(found for found in compiled_example("prod-use1").synced if key_of(found) == POOL)
    live = simulated_document(pool)
    live["metadata"]["uid"] = "1"
    live["status"] = {"conditions": []}
    assert is_applied(StoredObjects(live), pool)  # type: ignore[arg-type]
    live["spec"]["limits"]["nodes"] = "9"
    assert not is_applied(StoredObjects(live), pool)  # type: ignore[arg-type]
    assert not is_applied(StoredObjects(), pool)  # type: ignore[arg-type]


def test_an_object_that_is_being_deleted_is_not_applied() -> None:
    thing = manifest("a", {"x": 1})
    live = {**thing.document(), "metadata": {"name": "a", "deletionTimestamp": "now"}}
    assert not is_applied(StoredObjects(live), thing)  # type: ignore[arg-type]


def test_removed_objects_are_pruned_unless_their_annotation_forbids_it() -> None:
    options = {"argocd.argoproj.io/sync-options": "Delete=confirm,Prune=false"}
    kept = Manifest("f", (), "v1", "Namespace", "lab", {}, annotations=options)
    gone, same = manifest("gone", {}), manifest("same", {"x": [1]})
    change = object_changes([kept, gone, same], [same])
    assert [str(key) for key in change.pruned] == ["Thing gone"]
    assert [str(key) for key in change.unpruned] == ["Namespace lab"]
    assert change.summary() == "Namespace lab: removed, and 1 more objects"
    assert change.summary(key_of(gone)).startswith("Thing gone: removed")


def test_the_summary_of_several_changes_is_one_line() -> None:
    before = [manifest("a", {"x": 1}), manifest("b", {"y": {"z": 1}}), manifest("c", {"l": [1]})]
    after = [manifest("a", {"x": 2}), manifest("b", {"y": {}}), manifest("c", {"l": [2]}), manifest("d", {})]
    change = object_changes(before, after)
    assert change.lines[key_of(after[1])] == "Thing b: spec.y.z 1 -> MISSING"
    assert change.summary(key_of(after[0])) == "Thing a: spec.x 1 -> 2, and 3 more objects"
    assert change.summary(key_of(after[3])).startswith("Thing d: new")


def test_a_late_edit_is_a_failure_with_its_waits() -> None:
    late = EditResult("a tenant is renamed", "a -> b", "Namespace a", waited=("tenants: waiting (58.0 s)",))
    assert late.is_late
    assert late.lateness(9).message == "not changed within 60 s; waited: tenants: waiting (58.0 s)"
    assert late.cells[3:] == ("never", "tenants: waiting (58.0 s)")
    assert not EditResult("a queue is removed", skipped="TEN003").is_late
