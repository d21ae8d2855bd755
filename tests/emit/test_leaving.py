"""Elements with `leaving: true`: no new nodes, no new work, and objects that do not block a sync."""

import pytest

from gpuc.emit.emitters import emit
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
from tests.conftest import Change, Variant
from tests.emit.fleet import of_kind

OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE = "argocd.argoproj.io/compare-options"
KEPT = {"confirm": "Delete=confirm,Prune=false", "never": "Delete=false,Prune=false"}
BY_HAND = {
    "NodePool", "NodeOverlay", "EC2NodeClass", "ClusterQueue", "ResourceFlavor", "Namespace", "ResourceQuota",
    "NetworkPolicy", "PriorityClass", "TrainingRuntime",
}  # fmt: skip
"""Kinds that engineers delete by hand. Of the NetworkPolicies only default-deny is protected."""


def objects(cluster: Cluster, kind: str = "") -> list[Manifest]:
    """Returns the objects that Argo CD applies."""
    return [
        manifest
        for manifest in emit(cluster)
        if isinstance(manifest, Manifest) and "/workloads/" not in manifest.file and kind in ("", manifest.kind)
    ]


def named(cluster: Cluster, kind: str, name: str) -> Manifest:
    (found,) = [manifest for manifest in objects(cluster, kind) if manifest.name == name]
    return found


def changed_files(before: Cluster, after: Cluster) -> set[str]:
    """Returns the files that differ, without the files that only list objects for users."""

    def contents(cluster: Cluster) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for artifact in emit(cluster):
            if isinstance(artifact, Manifest | Values):
                found.setdefault(artifact.file.removeprefix(f"out/{cluster.name}/"), []).append(repr(artifact))
        return found

    old, new = contents(before), contents(after)
    return {file for file in old.keys() | new.keys() if old.get(file) != new.get(file)}


@pytest.mark.parametrize("prune", ["never", "confirm", "automatic"])
def test_what_people_delete_is_neither_pruned_nor_a_difference(prune: str, variant: Variant) -> None:
    cluster = variant(lambda spec: spec["delivery"].update(prune=prune))
    noted = [
        manifest
        for manifest in objects(cluster)
        if "Prune" in manifest.annotations.get(OPTIONS, "") or COMPARE in manifest.annotations
    ]
    assert {manifest.kind for manifest in noted} == (set() if prune == "automatic" else BY_HAND)
    assert {manifest.name for manifest in noted if manifest.kind == "NetworkPolicy"} <= {"default-deny"}
    for manifest in noted:
        assert (manifest.annotations[OPTIONS], manifest.annotations[COMPARE]) == (KEPT[prune], "IgnoreExtraneous")
    if noted:
        for kind in BY_HAND - {"NetworkPolicy"}:
            assert all(manifest in noted for manifest in objects(cluster, kind)), kind


def test_a_pool_that_leaves_starts_no_node_and_may_be_pruned(variant: Variant, reference: Cluster) -> None:
    cluster = variant(lambda spec: spec["pools"]["dev-l4"].update(leaving=True))
    pool, before = named(cluster, "NodePool", "dev-l4"), named(reference, "NodePool", "dev-l4")
    assert pool.body["spec"]["limits"] == {"cpu": "0", "nodes": "0"}
    assert pool.body["spec"]["template"] == before.body["spec"]["template"], "nodes that exist do not drift"
    assert pool.body["spec"]["disruption"] == before.body["spec"]["disruption"]
    overlay = named(cluster, "NodeOverlay", "dev-l4-g6-12xlarge")
    for manifest in (pool, overlay):
        assert list(manifest.annotations) == ["argocd.argoproj.io/sync-wave"]
    node_class = named(cluster, "EC2NodeClass", "dev-l4")
    assert node_class.annotations[OPTIONS] == KEPT["confirm"], "its finalizer waits for the last node"
    assert changed_files(reference, cluster) == {
        "karpenter/pools/dev-l4.yaml", "kueue/queues/research.yaml", "workloads/dev-l4.yaml",
    }  # fmt: skip


def test_never_keeps_also_the_pool_that_leaves(variant: Variant) -> None:
    cluster = variant(
        lambda spec: (spec["delivery"].update(prune="never"), spec["pools"]["dev-l4"].update(leaving=True))
    )
    assert named(cluster, "NodePool", "dev-l4").annotations[OPTIONS] == KEPT["never"]


def test_a_static_pool_that_leaves_keeps_its_replicas(variant: Variant) -> None:
    """Fewer replicas would drain nodes at once."""
    cluster = variant(
        lambda spec: spec["pools"]["general"].update(
            leaving=True, nodes={"static": 10}, eks={"purchase": ["on-demand"]}
        )
    )
    body = named(cluster, "NodePool", "general").body["spec"]
    assert (body["replicas"], body["limits"]) == (10, {"nodes": "0"})


def test_no_queue_has_quota_of_a_pool_that_leaves(variant: Variant, reference: Cluster) -> None:
    """A queue with quota could reclaim it from running work of another queue."""
    cluster = variant(lambda spec: spec["pools"]["train-h100"].update(leaving=True))
    rows: dict[str, list[dict[str, str]]] = {}
    for queue in objects(cluster, "ClusterQueue"):
        for flavor in queue.body["spec"]["resourceGroups"][0]["flavors"]:
            rows.setdefault(flavor["name"], []).extend(flavor["resources"])
    assert len(rows["train-h100"]) > 10
    assert all(row["nominalQuota"] == "0" for row in rows["train-h100"])
    assert not any("borrowingLimit" in row or "lendingLimit" in row for row in rows["train-h100"])
    assert any(row["nominalQuota"] != "0" for row in rows["batch-a100"])
    for kind in (
        "ResourceFlavor",
        "ResourceQuota",
    ):  # running work still needs its flavor, and quota for recreated pods
        assert objects(cluster, kind) == objects(reference, kind)


def held(cluster: Cluster) -> set[tuple[str, str]]:
    """Returns namespace and name of the LocalQueues that admit no new work."""
    queues = objects(cluster, "LocalQueue")
    assert {queue.body["spec"]["stopPolicy"] for queue in queues} <= {"None", "Hold"}
    return {(queue.namespace, queue.name) for queue in queues if queue.body["spec"]["stopPolicy"] == "Hold"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda spec: None, set()),
        (lambda spec: spec["tenants"]["search"].update(leaving=True), {
            ("search-train", "search"), ("search-train", "search-cpu"),
        }),
        (lambda spec: spec["tenants"]["search"]["namespaces"]["search-train"].update(leaving=True), {
            ("search-train", "search"), ("search-train", "search-cpu"),
        }),
        (lambda spec: spec["queues"]["search"].update(leaving=True), {
            ("search-train", "search"), ("search-train", "search-cpu"),
        }),
    ],
    ids=["nothing", "tenant", "namespace", "queue"],
)  # fmt: skip
def test_new_work_is_held_where_its_tenant_namespace_or_queue_leaves(
    change: Change, expected: set[tuple[str, str]], variant: Variant, reference: Cluster
) -> None:
    cluster = variant(change)
    assert held(cluster) == expected
    # Only engineers hold ClusterQueues. They keep their quota: without it other queues could preempt running work.
    assert objects(cluster, "ClusterQueue") == objects(reference, "ClusterQueue")
    assert objects(cluster, "RoleBinding") == objects(reference, "RoleBinding")


def templates(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Returns namespace and queue of all workload templates."""
    jobs = [job for job in of_kind(emit(cluster), "Job") if "/workloads/" in job.file]
    return {job.name: (job.namespace, job.labels["kueue.x-k8s.io/queue-name"]) for job in jobs}


def test_templates_are_for_work_that_is_admitted(variant: Variant, reference: Cluster) -> None:
    assert templates(reference)["train-h100"] == ("research-train", "research")
    moved = templates(variant(lambda spec: spec["tenants"]["research"].update(leaving=True)))
    assert moved["train-h100"] == ("search-train", "search")
    assert "dev-l4" not in moved, "no other tenant has a queue for it"
    lab = variant(lambda spec: spec["tenants"]["research"]["namespaces"]["research-train"].update(leaving=True))
    assert templates(lab)["train-h100"] == ("research-lab", "research")
    queue = variant(lambda spec: spec["queues"]["research"].update(leaving=True))
    assert templates(queue)["train-h100"] == ("search-train", "search")
