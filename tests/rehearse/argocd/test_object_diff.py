"""The differences between the objects of two specs: changed objects, pruned objects, unpruned objects."""

from __future__ import annotations

from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.argocd.object_diff import ObjectKey, diff_objects, is_applied, key_of
from gpuc_rehearsal.substitute import simulated_document
from tests.conformance.argocd_edits.sample_edits import SpecFile
from tests.conftest import compiled_example
from tests.rehearse.conftest import StoredObjects

PROD = "specs/prod-use1.yaml"
POOL = ObjectKey("karpenter.sh/v1", "NodePool", "", "general")


def manifest(name: str, spec: dict[str, Any], **annotations: str) -> Manifest:
    return Manifest("f", (), "v1", "Thing", name, {"spec": spec}, annotations=annotations)


def test_a_larger_pool_changes_the_limits_of_its_node_pool(fleet: Any) -> None:
    before = compiled_example("prod-use1")
    SpecFile(fleet, PROD).set(("spec", "pools", "general", "nodes", "max"), 11)
    change = diff_objects(before.synced, compiled_spec(fleet, PROD).synced)
    assert change.removed == ()
    assert "spec.limits.nodes 10 -> 11" in change.fields[POOL]
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
    change = diff_objects([kept, gone, same], [same])
    assert [str(key) for key in change.pruned] == ["Thing gone"]
    assert [str(key) for key in change.unpruned] == ["Namespace lab"]
    assert change.summary() == "Namespace lab: removed, and 1 more objects"
    assert change.summary(key_of(gone)).startswith("Thing gone: removed")


def test_the_summary_of_several_changes_is_one_line() -> None:
    before = [manifest("a", {"x": 1}), manifest("b", {"y": {"z": 1}}), manifest("c", {"l": [1]})]
    after = [manifest("a", {"x": 2}), manifest("b", {"y": {}}), manifest("c", {"l": [2]}), manifest("d", {})]
    change = diff_objects(before, after)
    assert change.fields[key_of(after[1])] == ("spec.y.z 1 -> none",)
    assert change.summary(key_of(after[0])) == "Thing a: spec.x 1 -> 2, and 3 more objects"
    assert change.summary(key_of(after[3])).startswith("Thing d: new")
