"""Manual edits of live objects. A run measures the time until Argo CD reverts an edit (self-heal)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.plan.impacts.admission.policies import LABEL
from gpuc.rehearse.argocd.edit_runner import EditRunner
from gpuc.rehearse.argocd.object_diff import ObjectKey, is_applied, key_of
from gpuc.rehearse.argocd.result import EditResult
from gpuc.rehearse.client import ApiError, Client, Object

HEAL_SECONDS = 60
"""Limit for the time until Argo CD reverts an edit. The delay increases with every self-heal of the same commit: 2 s,
6 s, 18 s, 54 s."""


@dataclass(frozen=True)
class ManualEdit:
    """An edit of a live object."""

    name: str
    change: str
    manifest: Manifest
    """The object in Git."""
    apply: Callable[[Client], object]


def sample_manual_edits(runner: EditRunner, except_pool: str = "") -> Iterator[ManualEdit]:
    """Yields an edit for some kinds of objects. Objects with the name `except_pool` are not edited."""
    synced = [manifest for manifest in runner.spec.synced if manifest.name != except_pool]
    if pool := _first(synced, "NodePool"):
        yield _limit(pool)
    if queue := _first(synced, "ClusterQueue"):
        yield _quota(queue)
    if policy := _first(synced, "NetworkPolicy"):
        yield _deletion("a NetworkPolicy is deleted", policy)
    if queue := _first(synced, "LocalQueue"):
        yield _deletion("a LocalQueue is deleted", queue)
    namespaces = [manifest for manifest in synced if manifest.kind == "Namespace" and LABEL in manifest.labels]
    if strict := next((space for space in namespaces if space.labels[LABEL] != "privileged"), None):
        yield _label(strict)


def run_manual_edit(runner: EditRunner, edit: ManualEdit, prefix: str = "manual edit") -> EditResult:
    """Edits the live object and waits until the live object equals the object in Git again."""
    name, key = f"{prefix}: {edit.name}", key_of(edit.manifest)
    runner.progress(name)
    started = runner.watch.now
    try:
        is_healed = start_manual_edit(runner.client, edit)
    except ApiError as error:
        return EditResult(name, edit.change, str(key), 0.0, HEAL_SECONDS, note=f"refused: {error.message}")
    taken = runner.watch.until(is_healed, HEAL_SECONDS)
    note = "healed" if taken is not None else ""
    return EditResult(name, edit.change, str(key), taken, HEAL_SECONDS, runner.waits(started), note)


def start_manual_edit(client: Client, edit: ManualEdit) -> Callable[[], bool]:
    """Edits the live object. The returned function returns whether the live object equals the object in Git again.

    Raises:
        ApiError: if the server or a policy refuses the edit.
    """
    key = key_of(edit.manifest)
    before = _resource_version(client, key)
    edit.apply(client)
    return lambda: _resource_version(client, key) not in ("", before) and is_applied(client, edit.manifest)


def _resource_version(client: Client, key: ObjectKey) -> str:
    """Returns the resourceVersion of an object, or an empty string if the object does not exist."""
    stored = client.find(*key.address)
    return "" if stored is None else str(stored["metadata"]["resourceVersion"])


def _first(synced: list[Manifest], kind: str) -> Manifest | None:
    return next((manifest for manifest in synced if manifest.kind == kind), None)


def _limit(pool: Manifest) -> ManualEdit:
    old = pool.body["spec"]["limits"]["nodes"]
    new = str(int(old) + 7)
    changes = {"spec": {"limits": {"nodes": new}}}
    return ManualEdit("the node limit of a NodePool", f"limits.nodes {old} -> {new}", pool, _patch(pool, changes))


def _quota(queue: Manifest) -> ManualEdit:
    groups = deepcopy(queue.body["spec"]["resourceGroups"])
    row = groups[0]["flavors"][0]["resources"][0]
    old = row["nominalQuota"]
    row["nominalQuota"] = new = str(int(parse_quantity(str(old))) + 1)
    change = f"nominalQuota of {row['name']} {old} -> {new}"
    return ManualEdit(
        "the nominal quota of a ClusterQueue", change, queue, _patch(queue, {"spec": {"resourceGroups": groups}})
    )


def _label(namespace: Manifest) -> ManualEdit:
    old = namespace.labels[LABEL]
    changes = {"metadata": {"labels": {LABEL: "privileged"}}}
    change = f"{LABEL} {old} -> privileged"
    return ManualEdit("the Pod Security label of a Namespace", change, namespace, _patch(namespace, changes))


def _deletion(name: str, manifest: Manifest) -> ManualEdit:
    return ManualEdit(name, "deleted", manifest, lambda client: client.delete(*key_of(manifest).address))


def _patch(manifest: Manifest, changes: Object) -> Callable[[Client], object]:
    return lambda client: client.patch(manifest.api, manifest.kind, manifest.name, changes, manifest.namespace)
