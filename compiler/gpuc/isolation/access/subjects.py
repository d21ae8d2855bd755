"""Who works for which tenant, and which roles are bound to whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from gpuc.isolation.access.builtin import AGGREGATE, BUILTIN, WIDER, Grant
from gpuc.isolation.tenancy import Tenancy
from gpuc.kubernetes.selector import Selector, equals, matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.selectors import selector

RBAC = "rbac.authorization.k8s.io"
_EVERYBODY = frozenset(("system:authenticated", "system:unauthenticated", "system:serviceaccounts"))
"""Groups that every tenant's users or pods are in."""
_OF_NAMESPACE = "system:serviceaccounts:"


class Bound(NamedTuple):
    """A role that a binding gives to a subject."""

    binding: Manifest
    number: int
    """Index of the subject in the binding."""
    subject: str
    """As people say it: "group oidc:research"."""
    tenants: tuple[str, ...]
    """Whom it works for."""
    role: Manifest | None
    """None for a role that is not in the tree."""
    role_name: str
    namespace: str
    """Where the binding holds; empty for everywhere."""
    is_everybody: bool
    """Whether it is a group that everybody is in."""


class RoleRule(NamedTuple):
    """A rule of a role, and where it stands."""

    grant: Grant
    role: Manifest | None
    """None for a built-in one."""
    number: int
    """Its index in the role."""


class Access:
    """The roles and bindings of a tree, for tenants."""

    def __init__(self, tree: ObjectSet, tenancy: Tenancy) -> None:
        self._tree = tree
        self._tenancy = tenancy
        self._rules: dict[str, tuple[RoleRule, ...]] = {}

    @cached_property
    def bound(self) -> tuple[Bound, ...]:
        """What is bound to subjects that work for tenants."""
        return tuple(self._bound())

    def _bound(self) -> Iterator[Bound]:
        for kind in ("RoleBinding", "ClusterRoleBinding"):
            for binding in self._tree.of(RBAC, kind):
                reference = binding.body.get("roleRef")
                name, of_cluster = dig(reference, "name"), dig(reference, "kind") == "ClusterRole"
                if not isinstance(name, str) or (kind == "RoleBinding" and not binding.namespace):
                    continue
                namespace = binding.namespace if kind == "RoleBinding" else ""
                role_kind, home = ("ClusterRole", "") if of_cluster else ("Role", namespace)
                role = self._tree.find(RBAC, role_kind, name, home)
                for index, subject in items(binding.body.get("subjects")):
                    tenants = self._tenants(subject, binding)
                    if tenants and (role is not None or (of_cluster and name in BUILTIN)):
                        everybody = dig(subject, "kind") == "Group" and dig(subject, "name") in _EVERYBODY
                        yield Bound(binding, index, _told(subject), tenants, role, name, namespace, everybody)

    def _tenants(self, subject: object, binding: Manifest) -> tuple[str, ...]:
        """The tenants that a subject works for; none for the platform's own."""
        kind, name = dig(subject, "kind"), dig(subject, "name")
        owners = self._tenancy.tenants
        if not isinstance(name, str):
            return ()
        if kind == "ServiceAccount":
            home = dig(subject, "namespace") or binding.namespace
            return (owners[home],) if isinstance(home, str) and home in owners else ()
        if kind == "Group" and name in _EVERYBODY:
            return self._tenancy.names
        if kind == "Group" and name.startswith(_OF_NAMESPACE):
            home = name.removeprefix(_OF_NAMESPACE)
            return (owners[home],) if home in owners else ()
        members = self.members.get((str(kind), name), {})
        return tuple(members) if len(members) == 1 or self._tree.is_complete else ()

    @cached_property
    def members(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Manifest, int]]]:
        """People by kind and name: the tenants in whose namespaces they are bound, with the place of each first one.

        Of files that somebody keeps, whoever is bound in namespaces of several tenants works for none of them: such are
        the people of the platform. What gpuc writes binds members only.
        """
        found: dict[tuple[str, str], dict[str, tuple[Manifest, int]]] = defaultdict(dict)
        for binding in self._tree.of(RBAC, "RoleBinding"):
            tenant = self._tenancy.tenants.get(binding.namespace)
            for index, subject in items(binding.body.get("subjects")) if tenant else ():
                kind, name = dig(subject, "kind"), dig(subject, "name")
                if kind in ("Group", "User") and isinstance(name, str) and not name.startswith("system:"):
                    found[kind, name].setdefault(str(tenant), (binding, index))
        return found

    def rules(self, bound: Bound) -> tuple[RoleRule, ...]:
        """Everything that the role grants, what it aggregates included."""
        if bound.role is not None and bound.role.kind == "Role":
            return tuple(_rules(bound.role))
        if bound.role_name not in self._rules:
            self._rules[bound.role_name] = tuple(self._of_cluster(bound.role, bound.role_name))
        return self._rules[bound.role_name]

    def _of_cluster(self, role: Manifest | None, name: str) -> Iterator[RoleRule]:
        if role is None:
            yield from (RoleRule(grant, None, index) for index, grant in enumerate(BUILTIN[name]))
            for label, wider in WIDER.items():
                if name in wider:
                    yield from self._selected(((equals(AGGREGATE + label, "true"),),))
        else:
            yield from _rules(role)
            raw = dig(role.body, "aggregationRule", "clusterRoleSelectors")
            yield from self._selected(tuple(selector(each) for _, each in items(raw)))

    def _selected(self, selectors: tuple[Selector, ...]) -> Iterator[RoleRule]:
        for role in self._tree.of(RBAC, "ClusterRole") if selectors else ():
            own = labels(role.labels)
            if any(matches(wanted, own) for wanted in selectors):
                yield from _rules(role)


def _rules(role: Manifest) -> Iterator[RoleRule]:
    for index, raw in items(role.body.get("rules")):
        groups, resources, verbs, names = (
            tuple(each for _, each in items(dig(raw, key)) if isinstance(each, str))
            for key in ("apiGroups", "resources", "verbs", "resourceNames")
        )
        yield RoleRule(Grant(groups, resources, frozenset(verbs), names), role, index)


def _told(subject: object) -> str:
    kind, name, namespace = (dig(subject, key) for key in ("kind", "name", "namespace"))
    if kind == "ServiceAccount":
        return f"service account {namespace}/{name}"
    return f"{str(kind).lower()} {name}"
