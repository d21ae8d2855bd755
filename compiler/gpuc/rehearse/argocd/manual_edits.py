"""Manual edits of live objects. A run measures the time until Argo CD reverts the edit (self-heal)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.argocd.checks import wait_times
from gpuc.rehearse.argocd.edit_runner import EditRunner
from gpuc.rehearse.argocd.result import EditResult
from gpuc.rehearse.argocd.tree_diff import ObjectKey, is_applied, key_of
from gpuc.rehearse.client import ApiError, Client, Object

HEAL_SECONDS = 60
"""Argo CD increases the delay with every self-heal of the same commit: 2 s, 6 s, 18 s, 54 s."""
POD_SECURITY = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class ManualEdit:
    """An edit of a live object."""

    name: str
    change: str
    manifest: Manifest
    """The object in Git."""
    apply: Callable[[Client], object]


def sample_manual_edits(runner: EditRunner, except_pool: str = "") -> Iterator[ManualEdit]:
    """Edits for the kinds of objects that the cluster has. Objects of the pool `except_pool` are not edited."""
    synced = [found for found in runner.spec.synced if found.name != except_pool]
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


def run_manual_edit(runner: EditRunner, edit: ManualEdit, prefix: str = "manual edit") -> EditResult:
    """Edits the live object and waits until it equals the object in Git again."""
    name, key = f"{prefix}: {edit.name}", key_of(edit.manifest)
    runner.progress(name)
    before = _resource_version(runner.client, key)
    started = runner.watch.now
    try:
        edit.apply(runner.client)
    except ApiError as error:
        return EditResult(name, edit.change, str(key), 0.0, HEAL_SECONDS, note=f"refused: {error.message}")

    def healed() -> bool:
        return _resource_version(runner.client, key) not in ("", before) and is_applied(runner.client, edit.manifest)

    taken = runner.watch.until(healed, HEAL_SECONDS)
    waited = tuple(wait_times(runner.watch.timeline, started, runner.watch.now))
    return EditResult(name, edit.change, str(key), taken, HEAL_SECONDS, waited, "healed" if taken is not None else "")


def _resource_version(client: Client, key: ObjectKey) -> str:
    """The resourceVersion of an object, or "" if the object does not exist."""
    stored = client.find(*key.address)
    return "" if stored is None else str(stored["metadata"]["resourceVersion"])


def _first(synced: list[Manifest], kind: str) -> Manifest | None:
    return next((found for found in synced if found.kind == kind), None)


def _limit(pool: Manifest) -> ManualEdit:
    now = pool.body["spec"]["limits"]["nodes"]
    then = str(int(now) + 7)
    changes = {"spec": {"limits": {"nodes": then}}}
    return ManualEdit("a NodePool's limit", f"limits.nodes {now} -> {then}", pool, _patch(pool, changes))


def _quota(queue: Manifest) -> ManualEdit:
    groups = deepcopy(queue.body["spec"]["resourceGroups"])
    row = groups[0]["flavors"][0]["resources"][0]
    now = row["nominalQuota"]
    row["nominalQuota"] = then = str(int(parse_quantity(str(now))) + 1)
    change = f"nominalQuota of {row['name']} {now} -> {then}"
    return ManualEdit("a ClusterQueue's quota", change, queue, _patch(queue, {"spec": {"resourceGroups": groups}}))


def _label(namespace: Manifest) -> ManualEdit:
    now = namespace.labels[POD_SECURITY]
    changes = {"metadata": {"labels": {POD_SECURITY: "privileged"}}}
    change = f"{POD_SECURITY} {now} -> privileged"
    return ManualEdit("a weaker Pod Security label", change, namespace, _patch(namespace, changes))


def _deletion(name: str, manifest: Manifest) -> ManualEdit:
    return ManualEdit(name, "deleted", manifest, lambda client: client.delete(*key_of(manifest).address))


def _patch(manifest: Manifest, changes: Object) -> Callable[[Client], object]:
    return lambda client: client.patch(manifest.api, manifest.kind, manifest.name, changes, manifest.namespace)
