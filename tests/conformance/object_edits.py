"""Edits of the objects of prod-use1 that reproduce mistakes of users. Each function changes the documents in place."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from gpuc_rehearsal.client import Object

Key = tuple[str, str, str]
"""Kind, namespace and name."""
Documents = dict[Key, Object]
Edit = Callable[[Documents], None]


def remove_object(documents: Documents, kind: str, name: str, namespace: str = "") -> None:
    """Removes an object."""
    del documents[kind, namespace, name]


def add_object(documents: Documents, document: Object) -> None:
    """Adds an object."""
    metadata = document["metadata"]
    documents[document["kind"], metadata.get("namespace", ""), metadata["name"]] = deepcopy(document)


def set_field(documents: Documents, kind: str, name: str, path: str, value: Any, namespace: str = "") -> None:
    """Sets a field, or removes it if the value is None. Spaces separate the path's keys and list indexes."""
    *steps, last = [int(step) if step.isdigit() else step for step in path.split()]
    node: Any = documents[kind, namespace, name]
    for step in steps:
        node = node[step]
    if value is None:
        del node[last]
    else:
        node[last] = value


def set_overlay_capacity(documents: Documents, overlay: str, resource: str, amount: str | None) -> None:
    """Sets the capacity of a resource in a NodeOverlay, or removes the resource if the amount is None."""
    set_field(documents, "NodeOverlay", overlay, f"spec capacity {resource}", amount)


def remove_covered_resource(documents: Documents, queue: str, resource: str) -> None:
    """Removes a resource and its quotas from a ClusterQueue."""
    group = _resource_group(documents, queue)
    group["coveredResources"].remove(resource)
    for flavor in group["flavors"]:
        flavor["resources"] = [quota for quota in flavor["resources"] if quota["name"] != resource]


def set_quotas(documents: Documents, queue: str, flavor: str, limits: dict[str, str]) -> None:
    """Sets limits, such as {"lendingLimit": "0"}, for every resource of a flavor in a ClusterQueue."""
    for quota in _flavor_quotas(documents, queue, flavor)["resources"]:
        quota.update(limits)


def replace_flavor(documents: Documents, queue: str, old: str, new: str) -> None:
    """Makes a ClusterQueue reference another flavor."""
    _flavor_quotas(documents, queue, old)["name"] = new


def rename_hard_limit(documents: Documents, namespaces: Iterable[str], old: str, new: str) -> None:
    """Renames a key below spec.hard in the ResourceQuota of namespaces."""
    for namespace in namespaces:
        hard = documents["ResourceQuota", namespace, "gpuc"]["spec"]["hard"]
        hard[new] = hard.pop(old)


def add_role_rule(documents: Documents, namespace: str, role: str, group: str, resource: str) -> None:
    """Lets a Role create and patch a resource."""
    rule = {"apiGroups": [group], "resources": [resource], "verbs": ["create", "patch"]}
    documents["Role", namespace, role]["rules"].append(rule)


def _resource_group(documents: Documents, queue: str) -> Any:
    return documents["ClusterQueue", "", queue]["spec"]["resourceGroups"][0]


def _flavor_quotas(documents: Documents, queue: str, flavor: str) -> Any:
    flavors = _resource_group(documents, queue)["flavors"]
    return next(quotas for quotas in flavors if quotas["name"] == flavor)
