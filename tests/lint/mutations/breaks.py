"""Breaks of an emitted tree, generated over everything in it that others depend on: one place each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group

AMOUNTS = ("limits", "requests", "hard", "capacity", "default", "defaultRequest")
QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit")
LABELS = ("labels", "nodeLabels", "matchLabels", "nodeSelector", "selector")
TAINTS = ("taints", "startupTaints", "nodeTaints", "tolerations")
RULES = ("ingress", "egress", "rules", "subjects", "validations", "from", "to", "ports", "verbs", "resources", "kinds")


@dataclass(frozen=True)
class Break:
    """One place of a tree that is not as it was."""

    category: str
    """reference, label, taint, quantity, selector, rule, role, object..."""
    what: str
    manifest: Manifest
    """The object that is changed, as it was."""
    path: Path
    changed: Manifest | None
    """The object as it is then; None where it is missing."""
    tree: tuple[Manifest, ...]
    """The whole tree with the break in it."""

    def __str__(self) -> str:
        return f"{self.category}: {self.what}: {self.manifest} {'.'.join(map(str, self.path))}"


def breaks(tree: tuple[Manifest, ...]) -> Iterator[Break]:
    """All of them, object by object."""
    names = {each.name for each in tree}
    for index, manifest in enumerate(tree):
        yield Break("object", "is missing", manifest, (), None, (*tree[:index], *tree[index + 1 :]))
        for category, what, path, document in _changes(manifest, names):
            yield Break(category, what, manifest, path, document, (*tree[:index], document, *tree[index + 1 :]))


def _changes(manifest: Manifest, names: set[str]) -> Iterator[tuple[str, str, Path, Manifest]]:
    document = {"labels": manifest.labels, **manifest.body}
    text = json.dumps(document)
    for path, value in _walk(document):
        for category, what, changed in _of(path, value, names, manifest):
            broken = json.loads(text)  # a copy without the parts that emitters use twice
            _put(broken, path, changed)
            labels = broken.pop("labels")
            yield category, what, path, replace(manifest, labels=labels, body=broken)


GONE = object()


def _of(path: Path, value: Any, names: set[str], manifest: Manifest) -> Iterator[tuple[str, str, Any]]:
    """What can be broken at a path: (category, what, the value instead)."""
    parents, last = path[:-1], path[-1] if path else ""
    parent = next((step for step in reversed(parents) if isinstance(step, str)), "")
    if isinstance(value, str):
        if parent in LABELS:
            yield "label", f"{value} is another", f"{value}-x"
        elif (last in QUOTAS or parent in AMOUNTS) and value != "0":
            yield "quantity", f"{value} is nothing", "0"
            yield (
                "quantity",
                f"{value} is a million times as much",
                f"{value}000000" if value.isdigit() else f"1{value}",
            )
        elif value in names and value != manifest.name and parent not in ("groups", "apiGroups", "resources", "verbs"):
            yield "reference", f"{value} is misspelled", f"{value}x"
        elif last in ("key", "effect") and any(step in TAINTS for step in path):
            other = "NoSchedule" if value == "NoExecute" else "NoExecute"
            yield "taint", f"{value} is another", other if last == "effect" else f"{value}-x"
    if isinstance(value, list) and value:
        if last in TAINTS or last in RULES:
            yield (
                ("role" if "Role" in manifest.kind else "taint" if last in TAINTS else "rule"),
                "the last is gone",
                (value[:-1] or GONE),
            )
        if last in ("verbs", "resources", "apiGroups") and "Role" in manifest.kind:
            yield "role", "everything is allowed", ["*"]
    if isinstance(value, dict) and value and last in ("podSelector", "namespaceSelector", "matchLabels"):
        yield "selector", "selects everything", {}


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, each in value.items():
            if key != "openAPIV3Schema":
                yield from _walk(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _walk(each, (*path, index))


def _put(document: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    if value is GONE:
        del document[path[-1]]
    else:
        document[path[-1]] = value


def spread(found: Iterable[Break], each: int) -> list[Break]:
    """Up to so many of each kind of object and category, evenly over the tree."""
    groups: dict[tuple[str, str, str], list[Break]] = {}
    for one in found:
        groups.setdefault((group(one.manifest), one.manifest.kind, one.category), []).append(one)
    return [one for part in groups.values() for one in part[:: max(1, len(part) // each)][:each]]
