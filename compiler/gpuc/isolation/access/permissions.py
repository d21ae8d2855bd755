"""The permissions that a tenant must not have, and those of roles that Kubernetes and the chart of Kueue create."""

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from gpuc.diagnostics.finding import Rule
from gpuc.isolation import rule_of
from gpuc.objects.object_set import by_first
from gpuc.parts.folders import table_beside

_TABLE = table_beside(__file__)
WITHOUT_NAME = frozenset(("create", "deletecollection", "list", "watch"))
"""The verbs of requests without a name, which a rule with resourceNames does not match."""


class Grant(NamedTuple):
    """What a rule of a role permits: API groups, resources and verbs."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: frozenset[str]
    names: tuple[str, ...] = ()
    """The names of the objects that the rule applies to; empty for all objects."""


def _verbs(text: str) -> frozenset[str]:
    return frozenset(verb for word in text.split() for verb in _TABLE["verbs"].get(word, word).split())


AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
"""The prefix of the labels with which a ClusterRole adds its permissions to a built-in role."""
RECEIVERS: dict[str, tuple[str, ...]] = {
    "view": ("view", "edit", "admin"),
    "edit": ("edit", "admin"),
    "admin": ("admin",),
}
"""The built-in roles that receive the permissions of a ClusterRole, by the end of its aggregation label."""

BUILTIN: dict[str, tuple[Grant, ...]] = {
    name: tuple(
        Grant((group,), tuple(resources.split()), _verbs(verbs))
        for included, rows in _TABLE["roles"].items()
        if name in RECEIVERS.get(included, (included,))
        for group, verbs, resources in rows
    )
    for name in _TABLE["roles"]
}
"""Permissions by the name of the ClusterRole."""


class Scope(Enum):
    """The namespaces in which a tenant must not have a permission."""

    ANYWHERE = "anywhere"
    """In all namespaces, including the namespaces of the tenant."""
    CLUSTER = "cluster"
    """Only through a ClusterRoleBinding, because a RoleBinding has no effect on cluster-scoped objects."""
    OTHER_NAMESPACES = "other namespaces"
    """In namespaces that do not belong to the tenant, and through a ClusterRoleBinding."""


class ForbiddenPermission(NamedTuple):
    """Verbs on a resource that a tenant must not have."""

    rule: Rule
    scope: Scope
    verbs: frozenset[str]


_RULES = {rule_id: rule_of(rule_id) for rule_id in (*_TABLE["forbidden"], "RBA009")}
NETWORK, NAMESPACES, ROLES, ADMISSION, OTHER_NAMESPACES, WILDCARD = (
    _RULES[rule_id] for rule_id in ("RBA002", "RBA004", "RBA005", "RBA007", "RBA008", "RBA009")
)
FORBIDDEN = by_first(
    ((group, resource), ForbiddenPermission(_RULES[rule_id], Scope(scope), _verbs(verbs)))
    for rule_id, rows in _TABLE["forbidden"].items()
    for scope, group, verbs, resources in rows
    for resource in resources.split()
)
"""Forbidden permissions by API group and resource."""


class GrantedPermission(NamedTuple):
    """A forbidden permission that a rule of a role gives."""

    forbidden: ForbiddenPermission
    group: str
    resource: str
    verbs: frozenset[str]
    """The forbidden verbs that the rule grants."""


@lru_cache(maxsize=4096)
def granted_permissions(grant: Grant) -> tuple[GrantedPermission, ...]:
    """Returns the forbidden permissions that a rule of a role gives."""
    granted = []
    for key, permissions in FORBIDDEN.items():
        for forbidden in permissions if _matches(grant, *key) else ():
            verbs = forbidden.verbs if "*" in grant.verbs else forbidden.verbs & grant.verbs
            if verbs := verbs - WITHOUT_NAME if grant.names else verbs:
                granted.append(GrantedPermission(forbidden, *key, verbs))
    return tuple(granted)


def has_wildcard(grant: Grant) -> bool:
    """Returns whether a rule of a role has "*" as an API group or as a resource."""
    return "*" in grant.groups or "*" in grant.resources


def _matches(grant: Grant, group: str, resource: str) -> bool:
    """Returns whether a rule matches a key of FORBIDDEN; "*/scale" matches the subresource "scale" of all resources."""
    if resource == "*" and group in grant.groups:  # all resources of the group are forbidden
        return any(not pattern.startswith("*/") for pattern in grant.resources)
    return bool({group, "*"} & set(grant.groups)) and any(
        pattern in ("*", resource) or (pattern.startswith("*/") and resource.endswith(pattern[1:]))
        for pattern in grant.resources
    )
