"""Mutations of the emitted objects of a cluster: one changed value or one missing object."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group

AMOUNTS = ("limits", "requests", "hard", "capacity", "default", "defaultRequest")
QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit")
LABELS = ("labels", "nodeLabels", "matchLabels", "nodeSelector", "selector")
TAINTS = ("taints", "startupTaints", "nodeTaints", "tolerations")
RULES = ("ingress", "egress", "rules", "subjects", "validations", "from", "to", "ports", "verbs", "resources", "kinds")
REMOVED = object()
"""This value removes its key."""


@dataclass(frozen=True)
class Mutation:
    """One change of one object."""

    cluster: str
    category: str
    """object, reference, label, taint, quantity, selector, rule or role."""
    change: str
    """What is different: `missing`, or the old value and the new one."""
    manifest: Manifest
    """The object before the change."""
    path: Path
    """Where in the object; empty where all of it is missing."""
    changed: Manifest | None
    """The object after the change; None where it is missing."""
    objects: tuple[Manifest, ...]
    """All objects of the cluster after the change."""

    def __str__(self) -> str:
        """The id that a row of the table has: cluster, object, path and change."""
        words = (self.cluster, str(self.manifest), ".".join(map(str, self.path)), self.change)
        return " ".join(word for word in words if word)


def mutations(cluster: str, objects: tuple[Manifest, ...]) -> Iterator[Mutation]:
    """Every mutation, object by object."""
    names = {manifest.name for manifest in objects}
    for index, manifest in enumerate(objects):
        before, after = objects[:index], objects[index + 1 :]
        yield Mutation(cluster, "object", "missing", manifest, (), None, (*before, *after))
        for category, change, path, changed in _changes(manifest, names):
            yield Mutation(cluster, category, change, manifest, path, changed, (*before, changed, *after))


def spread(found: Iterable[Mutation], count: int) -> list[Mutation]:
    """Up to `count` mutations of each kind of object and category, evenly distributed."""
    groups: dict[tuple[str, str, str], list[Mutation]] = {}
    for mutation in found:
        kind = group(mutation.manifest), mutation.manifest.kind, mutation.category
        groups.setdefault(kind, []).append(mutation)
    return [mutation for part in groups.values() for mutation in part[:: max(1, len(part) // count)][:count]]


def _changes(manifest: Manifest, names: set[str]) -> Iterator[tuple[str, str, Path, Manifest]]:
    document = {"labels": manifest.labels, **manifest.body}
    text = json.dumps(document)
    for path, value in _walk(document):
        for category, change, new in _new_values(path, value, names, manifest):
            copy = json.loads(text)  # emitters use some parts in several places of an object
            _put(copy, path, new)
            labels = copy.pop("labels")
            yield category, change, path, replace(manifest, labels=labels, body=copy)


def _new_values(path: Path, value: Any, names: set[str], manifest: Manifest) -> Iterator[tuple[str, str, Any]]:
    """Yields the replacements of a value: category, change and new value."""
    if isinstance(value, str):
        for category, new in _new_texts(path, value, names, manifest):
            yield category, f"{value} -> {new}", new
    elif isinstance(value, list) and value:
        yield from _new_lists(path, value, "Role" in manifest.kind)
    elif (
        isinstance(value, dict) and value and path[-1:] in (("podSelector",), ("namespaceSelector",), ("matchLabels",))
    ):
        yield "selector", "-> {}", {}


def _new_texts(path: Path, value: str, names: set[str], manifest: Manifest) -> Iterator[tuple[str, str]]:
    last = path[-1]
    parent = next((step for step in reversed(path[:-1]) if isinstance(step, str)), "")
    if parent in LABELS:
        yield "label", f"{value}-x"
    elif (last in QUOTAS or parent in AMOUNTS) and value != "0":
        yield "quantity", "0"
        yield "quantity", f"{value}000000" if value.isdigit() else f"1{value}"
    elif value in names and value != manifest.name and parent not in ("groups", "apiGroups", "resources", "verbs"):
        yield "reference", f"{value}x"
    elif last == "effect" and any(step in TAINTS for step in path):
        yield "taint", "NoSchedule" if value == "NoExecute" else "NoExecute"
    elif last == "key" and any(step in TAINTS for step in path):
        yield "taint", f"{value}-x"


def _new_lists(path: Path, value: list[Any], is_role: bool) -> Iterator[tuple[str, str, Any]]:
    last = path[-1]
    if last in TAINTS or last in RULES:
        category = "role" if is_role else "taint" if last in TAINTS else "rule"
        yield category, "without its last item", value[:-1] or REMOVED
    if is_role and last in ("verbs", "resources", "apiGroups"):
        yield "role", "-> [*]", ["*"]


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "openAPIV3Schema":
                yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))


def _put(document: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    if value is REMOVED:
        del document[path[-1]]
    else:
        document[path[-1]] = value
