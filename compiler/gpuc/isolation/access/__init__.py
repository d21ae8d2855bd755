"""Checks of RBAC: roles and bindings must not give forbidden permissions to tenants.

A tenant has the permissions of all roles that bindings give to its users and groups.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from gpuc.diagnostics.finding import Path, Rule
from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation.access.permissions import (
    AGGREGATE,
    BUILTIN,
    NETWORK,
    OTHER_NAMESPACES,
    RECEIVERS,
    WILDCARD,
    Grant,
    GrantedPermission,
    Scope,
    granted_permissions,
    has_wildcard,
)
from gpuc.isolation.constraints import PEERS, Constraints
from gpuc.isolation.tenancy import Tenancy, labelled_tenancy
from gpuc.kubernetes.api_groups import RBAC
from gpuc.kubernetes.selector import Selector, equals, matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, by_first, dig, grouped, items, labels
from gpuc.objects.selectors import selector

_ALL_USERS = frozenset(("system:authenticated", "system:unauthenticated", "system:serviceaccounts"))
"""Groups that contain users or pods of every tenant."""
_NAMESPACE_GROUP = "system:serviceaccounts:"
SERVICE_ACCOUNT = "service account "
"""The start of a service account as text."""


class BoundRole(NamedTuple):
    """A role that a RoleBinding or ClusterRoleBinding gives to one of its subjects."""

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
    """One entry of `rules` in a Role or ClusterRole."""

    grant: Grant
    role: Manifest | None
    """The Role or ClusterRole object; None for a built-in ClusterRole."""
    rule_index: int
    """The index of the rule in the role."""


class Access:
    """The roles and bindings in a set of objects, and the tenants to which they give permissions."""

    def __init__(self, objects: ObjectSet, tenancy: Tenancy) -> None:
        self.objects = objects
        self.tenancy = tenancy
        self._rules: dict[str, tuple[RoleRule, ...]] = {}

    @cached_property
    def bound_roles(self) -> tuple[BoundRole, ...]:
        """The roles that bindings give to subjects of tenants. Roles that gpuc does not know are left out."""
        return tuple(bound_role for bound_role in self.all_bound_roles() if bound_role.tenants)

    def all_bound_roles(self) -> Iterator[BoundRole]:
        """Yields the roles that bindings give to any subject. Roles that gpuc does not know are left out.

        gpuc knows a role if the objects contain it or if Kubernetes has it built in.
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
        """The tenants of each user and group, by kind and name of the subject.

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
        """Returns the rules of a role. If the role aggregates ClusterRoles, the result contains their rules too."""
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


class ExcessPermission(NamedTuple):
    """The forbidden permissions that a binding gives to a subject through one rule of a role."""

    rule: Rule
    bound_role: BoundRole
    role_rule: RoleRule
    permissions: tuple[GrantedPermission, ...]


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about permissions that a tenant must not have.

    The label gpuc.dev/tenant of a namespace names its tenant.
    """
    tenancy = labelled_tenancy(objects)
    if not tenancy.tenants:
        return
    access = Access(objects, tenancy)
    located = ((excess, *_location(excess)) for excess in excess_permissions(access))
    for rows in grouped(located, lambda row: (row[0].rule, id(row[1]), row[2])).values():
        excess, manifest, path = rows[0]
        yield ObjectFinding(excess.rule, manifest, path, _message([excess for excess, _, _ in rows]))


def excess_permissions(access: Access) -> Iterator[ExcessPermission]:
    """Yields each rule of a role that gives a forbidden permission to a tenant."""
    constraints = Constraints(access.objects)
    for bound_role in access.bound_roles:
        for role_rule in access.rules(bound_role):
            by_rule = by_first(
                (WILDCARD if has_wildcard(role_rule.grant) else permission.forbidden.rule, permission)
                for permission in granted_permissions(role_rule.grant)
                if _is_forbidden(permission, bound_role, access.tenancy)
                and not _is_restricted(permission, bound_role, access, constraints)
                and _exists(role_rule.grant.names, permission, bound_role, access.objects)
            )
            for rule, permissions in by_rule.items():
                yield ExcessPermission(rule, bound_role, role_rule, tuple(permissions))


def _is_forbidden(permission: GrantedPermission, bound_role: BoundRole, tenancy: Tenancy) -> bool:
    """Returns whether the tenant of a subject must not have a permission in the namespace of the binding."""
    if not bound_role.namespace:
        return True
    if permission.forbidden.scope is Scope.CLUSTER:
        return False
    is_own_namespace = tenancy.tenants.get(bound_role.namespace) in bound_role.tenants and not bound_role.is_everyone
    return not is_own_namespace or permission.forbidden.scope is Scope.ANYWHERE


def _is_restricted(
    permission: GrantedPermission, bound_role: BoundRole, access: Access, constraints: Constraints
) -> bool:
    """Returns whether a constraint makes a permission harmless.

    A constraint that limits the peers of NetworkPolicies makes it harmless that a tenant creates NetworkPolicies. Such
    a constraint does not prevent that a tenant changes or deletes a policy. A changed policy can isolate fewer pods.
    """
    if permission.forbidden.rule is not NETWORK or permission.verbs != {"create"} or not bound_role.namespace:
        return False
    own = access.tenancy.namespaces.get(bound_role.namespace, {})
    is_denied = permission.group == GROUP and constraints.find(PEERS, bound_role.namespace, own) is not None
    return is_denied or not access.objects.is_complete


_KINDS = {
    ("", "resourcequotas"): "ResourceQuota",
    ("", "limitranges"): "LimitRange",
    ("networking.k8s.io", "networkpolicies"): "NetworkPolicy",
    ("kueue.x-k8s.io", "localqueues"): "LocalQueue",
}
"""Kinds of which the input contains all objects, so a permission for another name of such a kind has no effect."""


def _exists(names: tuple[str, ...], permission: GrantedPermission, bound_role: BoundRole, objects: ObjectSet) -> bool:
    """Returns whether an object with one of the names exists; true for a rule without names."""
    kind = _KINDS.get((permission.group, permission.resource))
    if not names or kind is None or not bound_role.namespace or not objects.has(permission.group, kind):
        return True
    return any(objects.find(permission.group, kind, name, bound_role.namespace) for name in names)


def _location(excess: ExcessPermission) -> tuple[Manifest, Path]:
    """Returns the rule of the role, if the rule is wrong for every subject of the role; otherwise the binding."""
    bound_role, role_rule = excess.bound_role, excess.role_rule
    if excess.rule is OTHER_NAMESPACES or not bound_role.namespace or bound_role.is_everyone:
        return bound_role.binding, ("subjects", bound_role.subject_index)
    if role_rule.role is None:
        return bound_role.binding, ("roleRef", "name")
    return role_rule.role, ("rules", role_rule.rule_index)


def _message(excesses: list[ExcessPermission]) -> str:
    """Returns the message for all permissions that a rule or a binding gives: subject, permissions and namespaces."""
    first = excesses[0].bound_role
    actions = {
        f"{', '.join(sorted(permission.verbs))} {'.'.join(filter(None, (permission.resource, permission.group)))}"
        for excess in excesses
        for permission in excess.permissions
    }
    namespaces = {excess.bound_role.namespace for excess in excesses}
    where = with_kind("namespace", namespaces) if first.namespace else "every namespace"
    tenants = "every tenant" if first.is_everyone else with_kind("tenant", first.tenants)
    role = excesses[0].role_rule.role
    through = f"{role.kind if role else 'ClusterRole'} {role.name if role else first.role_name}"
    return f"{first.subject} of {tenants} can {short_list(actions)} in {where} through {through}"
