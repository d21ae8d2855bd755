"""The subjects of tenants, and the roles that bindings give to these subjects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from gpuc.isolation.access.permissions import AGGREGATE, BUILTIN, RECEIVERS, Grant
from gpuc.isolation.tenancy import Tenancy
from gpuc.kubernetes.api_groups import RBAC
from gpuc.kubernetes.selector import Selector, equals, matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.selectors import selector

_ALL_USERS = frozenset(("system:authenticated", "system:unauthenticated", "system:serviceaccounts"))
"""Groups that contain users or pods of every tenant."""
_NAMESPACE_GROUP = "system:serviceaccounts:"
SERVICE_ACCOUNT = "service account "
"""The start of a service account as text."""


class BoundRole(NamedTuple):
    """A role that a binding gives to a subject."""

    binding: Manifest
    subject_index: int
    """The index of the subject in the binding."""
    subject: str
    """The subject as text: "group oidc:research"."""
    tenants: tuple[str, ...]
    """The tenants of the subject."""
    role: Manifest | None
    """The Role or ClusterRole object; None for a built-in ClusterRole."""
    role_name: str
    namespace: str
    """The namespace of the binding; empty for a ClusterRoleBinding."""
    is_everyone: bool
    """Whether the subject is a group that contains all users or all service accounts."""


class RoleRule(NamedTuple):
    """A rule of a role."""

    grant: Grant
    role: Manifest | None
    """The Role or ClusterRole object; None for a built-in ClusterRole."""
    rule_index: int
    """The index of the rule in the role."""


class Access:
    """The roles and bindings that give permissions to tenants."""

    def __init__(self, objects: ObjectSet, tenancy: Tenancy) -> None:
        self.objects = objects
        self.tenancy = tenancy
        self._rules: dict[str, tuple[RoleRule, ...]] = {}

    @cached_property
    def bound_roles(self) -> tuple[BoundRole, ...]:
        """The known roles that bindings give to subjects of tenants."""
        return tuple(bound_role for bound_role in self.all_bound_roles() if bound_role.tenants)

    def all_bound_roles(self) -> Iterator[BoundRole]:
        """Yields the known roles that bindings give to any subjects.

        A role is known if it has an object or is built in.
        """
        for kind in ("RoleBinding", "ClusterRoleBinding"):
            for binding in self.objects.of(RBAC, kind):
                reference = binding.body.get("roleRef")
                name, is_cluster_role = dig(reference, "name"), dig(reference, "kind") == "ClusterRole"
                if not isinstance(name, str) or (kind == "RoleBinding" and not binding.namespace):
                    continue
                namespace = binding.namespace if kind == "RoleBinding" else ""
                role_kind, role_namespace = ("ClusterRole", "") if is_cluster_role else ("Role", namespace)
                role = self.objects.find(RBAC, role_kind, name, role_namespace)
                if role is None and not (is_cluster_role and name in BUILTIN):
                    continue
                for index, subject in items(binding.body.get("subjects")):
                    if isinstance(own := dig(subject, "name"), str):
                        is_everyone = dig(subject, "kind") == "Group" and own in _ALL_USERS
                        text, tenants = _subject_text(subject, binding), self._tenants(subject, binding)
                        yield BoundRole(binding, index, text, tenants, role, name, namespace, is_everyone)

    def _tenants(self, subject: object, binding: Manifest) -> tuple[str, ...]:
        """Returns the tenants of a subject; an empty tuple for a subject of the platform."""
        kind, name = dig(subject, "kind"), str(dig(subject, "name"))
        if kind == "Group" and name in _ALL_USERS:
            return self.tenancy.names
        if kind == "ServiceAccount" or (kind == "Group" and name.startswith(_NAMESPACE_GROUP)):
            own = dig(subject, "namespace") or binding.namespace
            namespace = own if kind == "ServiceAccount" else name.removeprefix(_NAMESPACE_GROUP)
            owner = self.tenancy.tenants.get(str(namespace))
            return (owner,) if owner else ()
        members = self.members.get((str(kind), name), {})
        return tuple(members) if len(members) == 1 or self.objects.is_complete else ()

    @cached_property
    def members(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Manifest, int]]]:
        """The tenants of users and groups, by kind and name of the subject.

        The value for a tenant is the first binding in a namespace of the tenant, and the index of the subject in the
        binding. The bindings that gpuc emits have only members of a tenant as subjects. In files that gpuc did not
        emit, a subject with bindings in namespaces of several tenants belongs to the platform, not to a tenant.
        """
        members: dict[tuple[str, str], dict[str, tuple[Manifest, int]]] = defaultdict(dict)
        for binding in self.objects.of(RBAC, "RoleBinding"):
            tenant = self.tenancy.tenants.get(binding.namespace)
            for index, subject in items(binding.body.get("subjects")) if tenant else ():
                kind, name = dig(subject, "kind"), dig(subject, "name")
                if kind in ("Group", "User") and isinstance(name, str) and not name.startswith("system:"):
                    members[kind, name].setdefault(str(tenant), (binding, index))
        return members

    def rules(self, bound_role: BoundRole) -> tuple[RoleRule, ...]:
        """Returns the rules of a bound role, including the rules of ClusterRoles that the role aggregates."""
        if bound_role.role is not None and bound_role.role.kind == "Role":
            return tuple(_rules(bound_role.role))
        if bound_role.role_name not in self._rules:
            self._rules[bound_role.role_name] = tuple(self._cluster_role_rules(bound_role.role, bound_role.role_name))
        return self._rules[bound_role.role_name]

    def _cluster_role_rules(self, role: Manifest | None, name: str) -> Iterator[RoleRule]:
        """Yields the rules of a ClusterRole and the rules that the ClusterRole aggregates.

        Args:
            role: the object of the ClusterRole; None for a built-in ClusterRole.
        """
        if role is None:
            yield from (RoleRule(grant, None, index) for index, grant in enumerate(BUILTIN[name]))
            for label, receivers in RECEIVERS.items():
                if name in receivers:
                    yield from self._aggregated_rules(((equals(AGGREGATE + label, "true"),),))
        else:
            yield from _rules(role)
            raw = dig(role.body, "aggregationRule", "clusterRoleSelectors")
            yield from self._aggregated_rules(tuple(selector(raw_selector) for _, raw_selector in items(raw)))

    def _aggregated_rules(self, selectors: tuple[Selector, ...]) -> Iterator[RoleRule]:
        """Yields the rules of all ClusterRoles that one of the selectors matches."""
        for role in self.objects.of(RBAC, "ClusterRole") if selectors else ():
            role_labels = labels(role.labels)
            if any(matches(wanted, role_labels) for wanted in selectors):
                yield from _rules(role)


def _rules(role: Manifest) -> Iterator[RoleRule]:
    for index, raw in items(role.body.get("rules")):
        groups, resources, verbs, names = (
            tuple(text for _, text in items(dig(raw, key)) if isinstance(text, str))
            for key in ("apiGroups", "resources", "verbs", "resourceNames")
        )
        yield RoleRule(Grant(groups, resources, frozenset(verbs), names), role, index)


def _subject_text(subject: object, binding: Manifest) -> str:
    kind, name, namespace = (dig(subject, key) for key in ("kind", "name", "namespace"))
    if kind == "ServiceAccount":
        return f"{SERVICE_ACCOUNT}{namespace or binding.namespace}/{name}"
    return f"{str(kind).lower()} {name}"
