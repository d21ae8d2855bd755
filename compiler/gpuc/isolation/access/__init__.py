"""RBAC checks: roles and bindings must not give tenants forbidden permissions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gpuc.diagnostics.finding import Path, Rule
from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation.access.permissions import (
    NETWORK,
    OTHER_NAMESPACES,
    WILDCARD,
    GrantedPermission,
    Scope,
    granted_permissions,
    has_wildcard,
)
from gpuc.isolation.access.subjects import Access, BoundRole, RoleRule
from gpuc.isolation.constraints import NETWORK_POLICY, Constraints
from gpuc.isolation.tenancy import Tenancy, labelled_tenancy
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


class ExcessPermission(NamedTuple):
    """Forbidden permissions that one rule of a role gives to a subject through a binding."""

    rule: Rule
    bound_role: BoundRole
    role_rule: RoleRule
    permissions: tuple[GrantedPermission, ...]


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about permissions that a tenant must not have.

    The label gpuc.dev/tenant assigns a namespace to a tenant.
    """
    tenancy = labelled_tenancy(objects)
    if not tenancy.tenants:
        return
    access = Access(objects, tenancy)
    excesses: dict[tuple[Rule, int, Path], list[ExcessPermission]] = defaultdict(list)
    for excess in excess_permissions(access):
        manifest, path = _location(excess)
        excesses[excess.rule, id(manifest), path].append(excess)
    for (rule, _, path), at_location in excesses.items():
        yield ObjectFinding(rule, _location(at_location[0])[0], path, _message(at_location))


def excess_permissions(access: Access) -> Iterator[ExcessPermission]:
    """Yields every rule of a role that gives a tenant a forbidden permission."""
    constraints = Constraints(access.objects)
    for bound_role in access.bound_roles:
        for role_rule in access.rules(bound_role):
            by_rule: dict[Rule, list[GrantedPermission]] = defaultdict(list)
            for permission in granted_permissions(role_rule.grant):
                if (
                    _is_forbidden(permission, bound_role, access.tenancy)
                    and not _is_restricted(permission, bound_role, access, constraints)
                    and _exists(role_rule.grant.names, permission, bound_role, access.objects)
                ):
                    by_rule[permission.forbidden.rule].append(permission)
            if has_wildcard(role_rule.grant) and by_rule:
                permissions = tuple(permission for group in by_rule.values() for permission in group)
                yield ExcessPermission(WILDCARD, bound_role, role_rule, permissions)
                continue
            for rule, of_rule in by_rule.items():
                yield ExcessPermission(rule, bound_role, role_rule, tuple(of_rule))


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

    A constraint on the peers of NetworkPolicies makes their creation harmless. The constraint does not prevent that a
    tenant changes or deletes a policy, which can isolate fewer pods.
    """
    if permission.forbidden.rule is not NETWORK or permission.verbs != {"create"} or not bound_role.namespace:
        return False
    labels = access.tenancy.namespaces.get(bound_role.namespace, {})
    is_denied = (
        permission.group == GROUP
        and constraints.find(NETWORK_POLICY, GROUP, "NetworkPolicy", bound_role.namespace, labels) is not None
    )
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
    if not names or kind is None or not objects.has(permission.group, kind):
        return True
    return (
        any(objects.find(permission.group, kind, name, bound_role.namespace) for name in names)
        or not bound_role.namespace
    )


def _location(excess: ExcessPermission) -> tuple[Manifest, Path]:
    """Returns the rule of the role if the rule is wrong for every subject; otherwise the binding."""
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
