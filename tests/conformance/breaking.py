"""Breaking a tree in one place: what is done to the documents of prod-use1, by the fault that a person would make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from gpuc.rehearse.client import Object

Key = tuple[str, str, str]
"""Kind, namespace and name."""
Documents = dict[Key, Object]
Break = Callable[[Documents], None]


def missing(kind: str, name: str, namespace: str = "") -> Break:
    """An object is not there."""

    def broken(documents: Documents) -> None:
        del documents[kind, namespace, name]

    return broken


def added(document: Object) -> Break:
    """An object is there that should not be."""

    def broken(documents: Documents) -> None:
        metadata = document["metadata"]
        documents[document["kind"], metadata.get("namespace", ""), metadata["name"]] = deepcopy(document)

    return broken


def value(kind: str, name: str, path: str, new: Any, namespace: str = "") -> Break:
    """A field has another value; None takes it away. Steps of the path are parted by spaces, items of lists counted."""

    def broken(documents: Documents) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split()]
        node: Any = documents[kind, namespace, name]
        for step in steps:
            node = node[step]
        if new is None:
            del node[last]
        else:
            node[last] = new

    return broken


def both(*breaks: Break) -> Break:
    """One fault that is written in several objects."""

    def broken(documents: Documents) -> None:
        for each in breaks:
            each(documents)

    return broken


def overlay(name: str, resource: str, amount: str | None) -> Break:
    """An overlay says another figure of a resource, or nothing."""
    return value("NodeOverlay", name, f"spec capacity {resource}", amount)


def uncovered(queue: str, resource: str) -> Break:
    """A ClusterQueue does not cover a resource."""

    def broken(documents: Documents) -> None:
        group = documents["ClusterQueue", "", queue]["spec"]["resourceGroups"][0]
        group["coveredResources"].remove(resource)
        for flavor in group["flavors"]:
            flavor["resources"] = [each for each in flavor["resources"] if each["name"] != resource]

    return broken


def renamed(queue: str, resource: str, other: str) -> Break:
    """A ClusterQueue meters a resource under another name."""

    def broken(documents: Documents) -> None:
        group = documents["ClusterQueue", "", queue]["spec"]["resourceGroups"][0]
        group["coveredResources"] = [other if name == resource else name for name in group["coveredResources"]]
        for each in _quotas(group):
            each["name"] = other if each["name"] == resource else each["name"]

    return broken


def quota(queue: str, flavor: str, **figures: str) -> Break:
    """Every figure of a flavor in a ClusterQueue has other limits: lendingLimit="0"."""

    def broken(documents: Documents) -> None:
        group = documents["ClusterQueue", "", queue]["spec"]["resourceGroups"][0]
        rows = next(each for each in group["flavors"] if each["name"] == flavor)["resources"]
        for row in rows:
            row.update(figures)

    return broken


def other_flavor(queue: str, flavor: str, other: str) -> Break:
    """A ClusterQueue names a flavor that is not there."""

    def broken(documents: Documents) -> None:
        flavors = documents["ClusterQueue", "", queue]["spec"]["resourceGroups"][0]["flavors"]
        next(each for each in flavors if each["name"] == flavor)["name"] = other

    return broken


def other_key(namespaces: Iterable[str], old: str, new: str) -> Break:
    """A ResourceQuota limits under another key."""

    def broken(documents: Documents) -> None:
        for namespace in namespaces:
            hard = documents["ResourceQuota", namespace, "gpuc"]["spec"]["hard"]
            hard[new] = hard.pop(old)

    return broken


def granted(namespace: str, role: str, group: str, resource: str) -> Break:
    """A role may write what fences its tenant in."""

    def broken(documents: Documents) -> None:
        rule = {"apiGroups": [group], "resources": [resource], "verbs": ["create", "patch"]}
        documents["Role", namespace, role]["rules"].append(rule)

    return broken


def _quotas(group: Any) -> list[Object]:
    return [row for flavor in group["flavors"] for row in flavor["resources"]]
