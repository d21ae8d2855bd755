"""Edits of live objects by hand, each with the time until Argo CD has healed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.argocd.arrival import Key, has_arrived, key_of
from gpuc.rehearse.argocd.desk import Desk
from gpuc.rehearse.argocd.judge import waits
from gpuc.rehearse.argocd.result import EditRun
from gpuc.rehearse.client import ApiError, Client, Object

HEAL_SECONDS = 60
"""Argo CD waits longer with every self-heal of the same commit: 2 s, then 6, 18, 54."""
POD_SECURITY = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class HandEdit:
    """One edit of a live object."""

    name: str
    change: str
    manifest: Manifest
    """The object as Git has it."""
    make: Callable[[Client], object]


def hand_edits(desk: Desk, besides: str = "") -> Iterator[HandEdit]:
    """The edits that the cluster's objects allow; those of pool `besides` stay as they are."""
    synced = [found for found in desk.spec.synced if found.name != besides]
    if pool := _first(synced, "NodePool"):
        yield _limit(pool)
    if queue := _first(synced, "ClusterQueue"):
        yield _quota(queue)
    if policy := _first(synced, "NetworkPolicy"):
        yield _deletion("a NetworkPolicy is deleted", policy)
    if queue := _first(synced, "LocalQueue"):
        yield _deletion("a LocalQueue is deleted", queue)
    namespaces = [found for found in synced if found.kind == "Namespace" and POD_SECURITY in found.labels]
    if strict := next((found for found in namespaces if found.labels[POD_SECURITY] != "privileged"), None):
        yield _label(strict)


def play(desk: Desk, edit: HandEdit, prefix: str = "by hand") -> EditRun:
    """Makes an edit and waits until the object is as Git has it again."""
    name, key = f"{prefix}: {edit.name}", key_of(edit.manifest)
    desk.say(name)
    before = _identity(desk.client, key)
    started = desk.watch.now
    try:
        edit.make(desk.client)
    except ApiError as error:
        return EditRun(name, edit.change, str(key), 0.0, HEAL_SECONDS, note=f"refused: {error.message}")

    def healed() -> bool:
        return _identity(desk.client, key) not in ("", before) and has_arrived(desk.client, edit.manifest)

    taken = desk.watch.until(healed, HEAL_SECONDS)
    waited = tuple(waits(desk.watch.timeline, started, desk.watch.now))
    return EditRun(name, edit.change, str(key), taken, HEAL_SECONDS, waited, "healed" if taken is not None else "")


def _identity(client: Client, key: Key) -> str:
    """What changes with every write of an object; empty where it does not exist."""
    stored = client.find(*key.place)
    return "" if stored is None else str(stored["metadata"]["resourceVersion"])


def _first(synced: list[Manifest], kind: str) -> Manifest | None:
    return next((found for found in synced if found.kind == kind), None)


def _limit(pool: Manifest) -> HandEdit:
    now = pool.body["spec"]["limits"]["nodes"]
    then = str(int(now) + 7)
    changes = {"spec": {"limits": {"nodes": then}}}
    return HandEdit("a NodePool's limit", f"limits.nodes {now} -> {then}", pool, _patch(pool, changes))


def _quota(queue: Manifest) -> HandEdit:
    groups = deepcopy(queue.body["spec"]["resourceGroups"])
    row = groups[0]["flavors"][0]["resources"][0]
    now = row["nominalQuota"]
    row["nominalQuota"] = then = str(int(parse_quantity(str(now))) + 1)
    change = f"nominalQuota of {row['name']} {now} -> {then}"
    return HandEdit("a ClusterQueue's quota", change, queue, _patch(queue, {"spec": {"resourceGroups": groups}}))


def _label(namespace: Manifest) -> HandEdit:
    now = namespace.labels[POD_SECURITY]
    changes = {"metadata": {"labels": {POD_SECURITY: "privileged"}}}
    change = f"{POD_SECURITY} {now} -> privileged"
    return HandEdit("a Pod Security label is lowered", change, namespace, _patch(namespace, changes))


def _deletion(name: str, manifest: Manifest) -> HandEdit:
    return HandEdit(name, "deleted", manifest, lambda client: client.delete(*key_of(manifest).place))


def _patch(manifest: Manifest, changes: Object) -> Callable[[Client], object]:
    return lambda client: client.patch(manifest.api, manifest.kind, manifest.name, changes, manifest.namespace)
