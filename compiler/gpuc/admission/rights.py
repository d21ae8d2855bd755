"""Checks whether the RoleBindings of a namespace allow its members to create objects of a kind."""

from collections.abc import Iterator
from typing import Any

from gpuc.admission.request import Decision, Request
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import RBAC
from gpuc.kubernetes.resource_name import plural
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items

_CHECK = "RBAC"


def member_groups(objects: ObjectSet, namespace: str) -> tuple[str, ...]:
    """Returns the groups to which RoleBindings of a namespace give a Role, in alphabetical order."""
    subjects = [subject for binding in _bindings(objects, namespace) for subject in _groups(binding)]
    return tuple(sorted(set(subjects)))


def rights(objects: ObjectSet, request: Request) -> Iterator[Decision]:
    """Yields the decision of RBAC: whether a member of the namespace may create the object of a request.

    gpuc assumes that the user is a member of all groups to which a RoleBinding of the namespace gives a Role. gpuc also
    assumes that the user may create the object in two cases: no RoleBinding of the namespace gives a Role to a group,
    or the input does not have the Role that a RoleBinding names.
    """
    document = request.document
    namespace = str(dig(document, "metadata", "namespace") or "")
    bindings = [binding for binding in _bindings(objects, namespace) if any(_groups(binding))]
    roles = [_role(objects, binding) for binding in bindings]
    if not bindings or None in roles:
        yield Decision("allowed", _CHECK, "the user is assumed to have the right to create the object")
        return
    api_group, _, _ = str(document.get("apiVersion")).rpartition("/")
    resource = plural(api_group, str(document.get("kind")))
    for role in roles:
        if role is not None and any(_permits(rule, api_group, resource) for _, rule in items(role.body.get("rules"))):
            yield Decision("allowed", _CHECK, f"{role} lets its groups create {resource}", role, ("rules",))
            return
    names = ", ".join(str(role) for role in roles)
    path: Path = ("rules",)
    message = f"no role of the namespace lets members create {resource} of API group {api_group or 'core'}: {names}"
    yield Decision("denied", _CHECK, message, roles[0], path, ("kind",))


def _bindings(objects: ObjectSet, namespace: str) -> list[Manifest]:
    return [binding for binding in objects.of(RBAC, "RoleBinding") if binding.namespace == namespace]


def _groups(binding: Manifest) -> Iterator[str]:
    for _, subject in items(binding.body.get("subjects")):
        if dig(subject, "kind") == "Group" and not str(dig(subject, "name")).startswith("system:"):
            yield str(dig(subject, "name"))


def _role(objects: ObjectSet, binding: Manifest) -> Manifest | None:
    """Returns the role of a RoleBinding; None if the role is not among the objects."""
    kind, name = (str(dig(binding.body, "roleRef", key)) for key in ("kind", "name"))
    return objects.find(RBAC, kind, name, binding.namespace if kind == "Role" else "")


def _permits(rule: Any, api_group: str, resource: str) -> bool:
    """Returns whether a rule permits the creation of all objects of a resource."""
    wanted = (("apiGroups", api_group), ("resources", resource), ("verbs", "create"))
    return not dig(rule, "resourceNames") and all(
        any(value in (name, "*") for _, value in items(dig(rule, key))) for key, name in wanted
    )
