"""Edits of the objects of prod-use1 that reproduce mistakes of users."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from gpuc_rehearsal.client import Object

Key = tuple[str, str, str]
"""Kind, namespace and name."""
Documents = dict[Key, Object]
Edit = Callable[[Documents], None]
"""Changes the documents in place."""


def remove_object(kind: str, name: str, namespace: str = "") -> Edit:
    """Removes an object."""

    def edit(documents: Documents) -> None:
        del documents[kind, namespace, name]

    return edit


def add_object(document: Object) -> Edit:
    """Adds an object."""

    def edit(documents: Documents) -> None:
        metadata = document["metadata"]
        documents[document["kind"], metadata.get("namespace", ""), metadata["name"]] = deepcopy(document)

    return edit


def set_field(kind: str, name: str, path: str, value: Any, namespace: str = "") -> Edit:
    """Sets a field, or removes it if the value is None. Spaces separate the path's keys and list indexes."""

    def edit(documents: Documents) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split()]
        node: Any = documents[kind, namespace, name]
        for step in steps:
            node = node[step]
        if value is None:
            del node[last]
        else:
            node[last] = value

    return edit


def combine(*edits: Edit) -> Edit:
    """Combines the edits of one mistake that affects several objects."""

    def edit(documents: Documents) -> None:
        for part in edits:
            part(documents)

    return edit


def set_overlay_capacity(overlay: str, resource: str, amount: str | None) -> Edit:
    """Sets the capacity of a resource in a NodeOverlay, or removes the resource if the amount is None."""
    return set_field("NodeOverlay", overlay, f"spec capacity {resource}", amount)


def remove_covered_resource(queue: str, resource: str) -> Edit:
    """Removes a resource and its quotas from a ClusterQueue."""

    def edit(documents: Documents) -> None:
        group = _resource_group(documents, queue)
        group["coveredResources"].remove(resource)
        for flavor in group["flavors"]:
            flavor["resources"] = [quota for quota in flavor["resources"] if quota["name"] != resource]

    return edit


def set_quotas(queue: str, flavor: str, limits: dict[str, str]) -> Edit:
    """Sets limits, such as {"lendingLimit": "0"}, for every resource of a flavor in a ClusterQueue."""

    def edit(documents: Documents) -> None:
        for quota in _flavor_quotas(documents, queue, flavor)["resources"]:
            quota.update(limits)

    return edit


def replace_flavor(queue: str, old: str, new: str) -> Edit:
    """Makes a ClusterQueue reference another flavor."""

    def edit(documents: Documents) -> None:
        _flavor_quotas(documents, queue, old)["name"] = new

    return edit


def rename_hard_limit(namespaces: Iterable[str], old: str, new: str) -> Edit:
    """Renames a key below spec.hard in the ResourceQuota of namespaces."""

    def edit(documents: Documents) -> None:
        for namespace in namespaces:
            hard = documents["ResourceQuota", namespace, "gpuc"]["spec"]["hard"]
            hard[new] = hard.pop(old)

    return edit


def add_role_rule(namespace: str, role: str, group: str, resource: str) -> Edit:
    """Lets a Role create and patch a resource."""

    def edit(documents: Documents) -> None:
        rule = {"apiGroups": [group], "resources": [resource], "verbs": ["create", "patch"]}
        documents["Role", namespace, role]["rules"].append(rule)

    return edit


def _resource_group(documents: Documents, queue: str) -> Any:
    return documents["ClusterQueue", "", queue]["spec"]["resourceGroups"][0]


def _flavor_quotas(documents: Documents, queue: str, flavor: str) -> Any:
    flavors = _resource_group(documents, queue)["flavors"]
    return next(quotas for quotas in flavors if quotas["name"] == flavor)
