"""Pods that run kubectl, against what the roles bound to their service account grant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from compiler.finding import Path, Severity, fault
from compiler.manifest import Manifest
from compiler.verify.access.builtin import BUILTIN, Grant
from compiler.verify.access.kubectl import Request, requests
from compiler.verify.access.scripts import commands, minor_version
from compiler.verify.access.subjects import RBAC, Access, Bound, RoleRule
from compiler.verify.flaw import Flaw
from compiler.verify.isolation.tenancy import Tenancy
from compiler.verify.references.pods import Pods, pods
from compiler.verify.tree import Tree, dig, items

_SOURCE = "kubernetes.io/docs/reference/access-authn-authz/rbac; k8s.io/kubectl v0.35.4 pkg/cmd"
FORBIDDEN = fault(
    "RBA011",
    Severity.ERROR,
    "Pods run kubectl, and their service account may not do what the command asks for.",
    "The API server answers Forbidden: the command fails, and a container that ends with it is started without end.",
    _SOURCE,
)
FORBIDDEN_HERE = fault(
    "RBA012",
    Severity.WARNING,
    "Pods run kubectl, and no role that these files bind to their service account grants what the command asks for.",
    "Unless another binding grants it, the API server answers Forbidden and the command fails.",
    _SOURCE,
)
_BUILTIN_GROUPS = frozenset(group for grants in BUILTIN.values() for grant in grants for group in grant.groups) - {"*"}


class _Need(NamedTuple):
    """What one container asks for."""

    pods: Pods
    command: str
    """As people say it: "kubectl wait"."""
    request: Request


class _Place(NamedTuple):
    """Where a missing right is to be added."""

    manifest: Manifest
    path: Path
    what: str
    """What is seen there."""


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Rights that a command certainly needs and nobody grants, by account and by the place where they are missing."""
    needs = _needs(tree)
    if not needs:
        return
    rights = _Rights(tree)
    for (home, name), asked in needs.items():
        told: dict[tuple[int, Path], tuple[_Place, list[_Need]]] = {}
        for need in asked:
            place = rights.missing(home, name, need)
            if place is not None:
                told.setdefault((id(place.manifest), place.path), (place, []))[1].append(need)
        for place, missing in told.values():
            found = FORBIDDEN if tree.is_whole else FORBIDDEN_HERE
            yield Flaw(found, place.manifest, place.path, _message(home, name, place, missing))


def _needs(tree: Tree) -> dict[tuple[str, str], list[_Need]]:
    found: dict[tuple[str, str], list[_Need]] = defaultdict(list)
    for each in pods(tree):
        home = each.manifest.namespace
        name = dig(each.spec, "serviceAccountName") or dig(each.spec, "serviceAccount") or "default"
        if not home or not isinstance(name, str) or not _has_token(tree, each.spec, home, name):
            continue
        for _, container in each.containers():
            minor = minor_version(container)
            for command in commands(container):
                text = f"kubectl {command.words[0]}"
                found[home, name] += [_Need(each, text, request) for request in requests(command, minor)]
    return found


def _has_token(tree: Tree, spec: Any, home: str, name: str) -> bool:
    """Whether pods act as an account that the tree decides about, and get its token."""
    account = tree.find("", "ServiceAccount", name, home)
    if account is None and not (tree.is_whole and name == "default"):
        return False
    mounts = dig(spec, "automountServiceAccountToken")
    if mounts is None and account is not None:
        mounts = account.body.get("automountServiceAccountToken")
    return mounts is not False


class _Rights:
    """What the bindings of a tree grant to service accounts."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._access = Access(tree, Tenancy({}, {}))
        self._bound: dict[str, list[Bound]] = defaultdict(list)
        for kind in ("RoleBinding", "ClusterRoleBinding"):
            for binding in tree.of(RBAC, kind):
                self._add(binding, binding.namespace if kind == "RoleBinding" else "")

    def _add(self, binding: Manifest, namespace: str) -> None:
        reference = binding.body.get("roleRef")
        name, kind = dig(reference, "name"), dig(reference, "kind")
        if not isinstance(name, str) or not isinstance(kind, str):
            return
        role = self._tree.find(RBAC, kind, name, namespace if kind == "Role" else "")
        for number, subject in items(binding.body.get("subjects")):
            user = _user(subject, binding.namespace)
            self._bound[user].append(Bound(binding, number, user, (), role, name, namespace, False))

    def missing(self, home: str, name: str, need: _Need) -> _Place | None:
        """Where the right has to be added that a command lacks; None where it has it, or may have it."""
        groups = (f"system:serviceaccounts:{home}", "system:serviceaccounts", "system:authenticated")
        users = (f"system:serviceaccount:{home}:{name}", *groups)
        bound = [each for user in users for each in self._bound.get(user, ())]
        if any(_is_open(each, need.request) for each in bound):
            return None
        if not bound:
            return _unbound(need.pods) if self._tree.is_whole else None
        request = need.request
        namespace = None if request.namespace is None else request.namespace or home
        holding = [each for each in bound if not each.namespace or each.namespace == namespace]
        rules = [rule for each in holding for rule in self._access.rules(each)]
        if any(_grants(rule.grant, request) for rule in rules):
            return None
        return _place(bound, holding, rules, request)


def _unbound(found: Pods) -> _Place:
    key = "serviceAccountName" if dig(found.spec, "serviceAccountName") else ""
    path = (*found.path, "spec", key) if key else (*found.path, "spec")
    return _Place(found.manifest, path, "no role is bound to it")


def _user(subject: Any, home: str) -> str:
    kind, name = dig(subject, "kind"), dig(subject, "name")
    if kind == "ServiceAccount":
        return f"system:serviceaccount:{dig(subject, 'namespace') or home}:{name}"
    return str(name)


def _is_open(bound: Bound, request: Request) -> bool:
    """Whether a role may grant what no object says: one that a chart brings, or that takes in others of charts."""
    if bound.role is None:
        return bound.role_name not in BUILTIN or request.resource.group not in _BUILTIN_GROUPS
    return "aggregationRule" in bound.role.body


def _grants(grant: Grant, request: Request) -> bool:
    """Whether a rule certainly or perhaps lets a request through."""
    if request.verb not in grant.verbs and "*" not in grant.verbs:
        return False
    if not _is_about(grant, request):
        return False
    if not grant.names:
        return True
    if request.verb == "create" and "/" not in request.resource.name:
        return False
    return request.is_named and (not request.name or request.name in grant.names)


def _is_about(grant: Grant, request: Request) -> bool:
    _, slash, part = request.resource.name.partition("/")
    wanted = {"*", request.resource.name} | ({f"*/{part}"} if slash else set())
    return bool(wanted & set(grant.resources)) and bool({"*", request.resource.group} & set(grant.groups))


def _place(bound: list[Bound], holding: list[Bound], rules: list[RoleRule], request: Request) -> _Place:
    if not holding:
        first = bound[0]
        where = f"only in namespace {first.namespace}"
        return _Place(first.binding, ("roleRef", "name"), f"{first.role_name} is bound to it {where}")
    for rule in rules:
        if rule.role is not None and _is_about(rule.grant, request):
            lacks = "resourceNames" if rule.grant.names and request.verb in rule.grant.verbs else "verbs"
            return _Place(rule.role, ("rules", rule.number, lacks), "this rule does not grant that")
    role = next((each.role for each in holding if each.role is not None), None)
    if role is None:
        return _Place(holding[0].binding, ("roleRef", "name"), f"{holding[0].role_name} does not grant that")
    return _Place(role, ("rules",) if "rules" in role.body else (), "no rule grants that")


def _message(home: str, name: str, place: _Place, missing: list[_Need]) -> str:
    first = missing[0]
    rights: dict[str, list[str]] = {}
    for need in missing:
        verbs = rights.setdefault(str(need.request.resource), [])
        if need.request.verb not in verbs:
            verbs.append(need.request.verb)
    asked = " and ".join(f"{', '.join(verbs)} on {resource}" for resource, verbs in rights.items())
    words = ", ".join(dict.fromkeys(need.command for need in missing))
    return f"{first.pods.manifest} runs {words} as service account {home}/{name}, which needs {asked}: {place.what}"
