"""Nodes go when no pod can get them any more; objects are children of their present owners only."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM
from tests.conformance import empty_nodes
from tests.conformance.empty_nodes import EmptyNodes
from tests.conformance.real_answers import NODE, POD
from tests.conformance.watched_objects import Kind, WatchedObjects


class Requests(Client):
    """Records requests instead of sending them."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, ...]] = []

    def patch_object(
        self, document: Object, changes: Object, subresource: str = "", *, dry_run: bool = False
    ) -> Object:
        self.sent.append(("patch", document["metadata"]["name"], str(changes["spec"]["unschedulable"])))
        return document

    def delete_object(self, document: Object) -> None:
        self.sent.append(("delete", document["kind"], document["metadata"]["name"]))

    def remove_finalizers(self, document: Object) -> None:
        """The tests do not look at finalizers."""


def watched(**objects: list[Object]) -> WatchedObjects:
    found = WatchedObjects(Requests(), (NODE, POD, CLAIM))
    for kind in (NODE, POD, CLAIM):
        put(found, kind, objects.get(kind[1], []))
    return found


def put(found: WatchedObjects, kind: Kind, documents: list[Object]) -> None:
    found._replace(kind, [{"apiVersion": kind[0], "kind": kind[1], **document} for document in documents])


def named(name: str, pool: str = "", **fields: Object) -> Object:
    return {"metadata": {"name": name, "uid": name, "labels": {NODE_POOL: pool} if pool else {}}, **fields}


def pod(node: str) -> Object:
    return named(f"on-{node}", spec={"nodeName": node})


def test_only_an_empty_node_is_removed_and_its_claim_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMPTY_SECONDS", "UNUSED_SECONDS", "CORDONED_SECONDS"):
        monkeypatch.setattr(empty_nodes, name, -1)
    claim = named("claim", "web", status={"nodeName": "empty"})
    objects = watched(
        Node=[named("empty", "web"), named("busy", "web"), named("late", "web"), named("static", "block")],
        Pod=[pod("busy")],
        NodeClaim=[claim],
    )
    client = Requests()
    with ThreadPoolExecutor(1) as threads:
        nodes = EmptyNodes(client, objects, threads, {"block"})
        nodes.sweep(1)
        assert sorted(client.sent) == [("patch", "empty", "True"), ("patch", "late", "True")]
        put(objects, POD, [pod("busy"), pod("late")])
        client.sent.clear()
        nodes.sweep(1)
    removed = [("delete", "Node", "empty"), ("delete", "NodeClaim", "claim")]
    assert sorted(client.sent) == [*removed, ("patch", "late", "None")]


def test_a_child_leaves_the_family_of_an_owner_that_it_lost() -> None:
    child = named("child")
    child["metadata"]["ownerReferences"] = [{"uid": "first"}, {"uid": "second"}]
    objects = watched(Pod=[child])
    assert [row["metadata"]["name"] for _, row in objects.family("first")] == ["child"]
    put(objects, POD, [{"metadata": {**child["metadata"], "ownerReferences": [{"uid": "second"}]}}])
    assert objects.family("first") == []
    put(objects, POD, [])
    assert objects.family("second") == []
