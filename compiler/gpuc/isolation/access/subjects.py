"""The subjects of tenants and the roles that are bound to them."""

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
_ALL_USERS = frozenset(("system:authenticated", "system:unauthenticated", "system:serviceaccounts"))
"""Groups that contain users or pods of every tenant."""
_NAMESPACE_GROUP = "system:serviceaccounts:"


class BoundRole(NamedTuple):
    """A role that a binding gives to a subject."""

    binding: Manifest
    number: int
    """Index of the subject in the binding."""
    subject: str
    """The subject as text: "group oidc:research"."""
    tenants: tuple[str, ...]
    """The tenants of the subject."""
    role: Manifest | None
    """The object of the role; None for a built-in role."""
    role_name: str
    namespace: str
    """The namespace of the binding; empty for a ClusterRoleBinding."""
    is_everyone: bool
    """Whether the subject is a group that contains all users or all service accounts."""


class RoleRule(NamedTuple):
    """A rule with its role."""

    grant: Grant
    role: Manifest | None
    """The object of the role; None for a built-in role."""
    number: int
    """The index of the rule in the role."""


class Access:
    """The roles and bindings that give permissions to tenants."""

    def __init__(self, objects: ObjectSet, tenancy: Tenancy) -> None:
        self._objects = objects
        self._tenancy = tenancy
        self._rules: dict[str, tuple[RoleRule, ...]] = {}

    @cached_property
    def bound_roles(self) -> tuple[BoundRole, ...]:
        """The roles that are bound to subjects of tenants."""
        return tuple(self._bound_roles())

    def _bound_roles(self) -> Iterator[BoundRole]:
        for kind in ("RoleBinding", "ClusterRoleBinding"):
            for binding in self._objects.of(RBAC, kind):
                reference = binding.body.get("roleRef")
                name, of_cluster = dig(reference, "name"), dig(reference, "kind") == "ClusterRole"
                if not isinstance(name, str) or (kind == "RoleBinding" and not binding.namespace):
                    continue
                namespace = binding.namespace if kind == "RoleBinding" else ""
                role_kind, home = ("ClusterRole", "") if of_cluster else ("Role", namespace)
                role = self._objects.find(RBAC, role_kind, name, home)
                for index, subject in items(binding.body.get("subjects")):
                    tenants = self._tenants(subject, binding)
                    if tenants and (role is not None or (of_cluster and name in BUILTIN)):
                        is_everyone = dig(subject, "kind") == "Group" and dig(subject, "name") in _ALL_USERS
                        yield BoundRole(
                            binding, index, _subject_text(subject), tenants, role, name, namespace, is_everyone
                        )

    def _tenants(self, subject: object, binding: Manifest) -> tuple[str, ...]:
        """The tenants of a subject; empty for subjects of the platform."""
        kind, name = dig(subject, "kind"), dig(subject, "name")
        owners = self._tenancy.tenants
        if not isinstance(name, str):
            return ()
        if kind == "ServiceAccount":
            home = dig(subject, "namespace") or binding.namespace
            return (owners[home],) if isinstance(home, str) and home in owners else ()
        if kind == "Group" and name in _ALL_USERS:
            return self._tenancy.names
        if kind == "Group" and name.startswith(_NAMESPACE_GROUP):
            home = name.removeprefix(_NAMESPACE_GROUP)
            return (owners[home],) if home in owners else ()
        members = self.members.get((str(kind), name), {})
        return tuple(members) if len(members) == 1 or self._objects.is_complete else ()

    @cached_property
    def members(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Manifest, int]]]:
        """Users and groups by kind and name: their tenants, with the place of the first binding of every tenant.

        gpuc binds only members of a tenant. In other files, a subject with bindings in namespaces of several tenants
        belongs to the platform, not to a tenant.
        """
        found: dict[tuple[str, str], dict[str, tuple[Manifest, int]]] = defaultdict(dict)
        for binding in self._objects.of(RBAC, "RoleBinding"):
            tenant = self._tenancy.tenants.get(binding.namespace)
            for index, subject in items(binding.body.get("subjects")) if tenant else ():
                kind, name = dig(subject, "kind"), dig(subject, "name")
                if kind in ("Group", "User") and isinstance(name, str) and not name.startswith("system:"):
                    found[kind, name].setdefault(str(tenant), (binding, index))
        return found

    def rules(self, bound_role: BoundRole) -> tuple[RoleRule, ...]:
        """The rules of a bound role, including the rules that it aggregates."""
        if bound_role.role is not None and bound_role.role.kind == "Role":
            return tuple(_rules(bound_role.role))
        if bound_role.role_name not in self._rules:
            self._rules[bound_role.role_name] = tuple(self._cluster_role_rules(bound_role.role, bound_role.role_name))
        return self._rules[bound_role.role_name]

    def _cluster_role_rules(self, role: Manifest | None, name: str) -> Iterator[RoleRule]:
        if role is None:
            yield from (RoleRule(grant, None, index) for index, grant in enumerate(BUILTIN[name]))
            for label, wider in WIDER.items():
                if name in wider:
                    yield from self._selected(((equals(AGGREGATE + label, "true"),),))
        else:
            yield from _rules(role)
            raw = dig(role.body, "aggregationRule", "clusterRoleSelectors")
            yield from self._selected(tuple(selector(raw_selector) for _, raw_selector in items(raw)))

    def _selected(self, selectors: tuple[Selector, ...]) -> Iterator[RoleRule]:
        for role in self._objects.of(RBAC, "ClusterRole") if selectors else ():
            own = labels(role.labels)
            if any(matches(selected, own) for selected in selectors):
                yield from _rules(role)


def _rules(role: Manifest) -> Iterator[RoleRule]:
    for index, raw in items(role.body.get("rules")):
        groups, resources, verbs, names = (
            tuple(text for _, text in items(dig(raw, key)) if isinstance(text, str))
            for key in ("apiGroups", "resources", "verbs", "resourceNames")
        )
        yield RoleRule(Grant(groups, resources, frozenset(verbs), names), role, index)


def _subject_text(subject: object) -> str:
    kind, name, namespace = (dig(subject, key) for key in ("kind", "name", "namespace"))
    if kind == "ServiceAccount":
        return f"service account {namespace}/{name}"
    return f"{str(kind).lower()} {name}"
