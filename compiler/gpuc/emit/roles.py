"""Roles for members of tenants.

The built-in roles edit and admin are not used, because they can write NetworkPolicies and RoleBindings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import RBAC, RBAC_API
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.model.tenant import ROLES
from gpuc.spec.tenants import Role

READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

PolicyRule = tuple[str, tuple[str, ...], tuple[str, ...]]
"""API group, resources and verbs."""

VIEW: tuple[PolicyRule, ...] = (
    ("", ("configmaps", "events", "limitranges", "persistentvolumeclaims", "pods", "pods/log", "pods/status",
          "resourcequotas", "serviceaccounts", "services"), READ),
    ("apps", ("deployments", "replicasets", "statefulsets"), READ),
    ("autoscaling", ("horizontalpodautoscalers",), READ),
    ("discovery.k8s.io", ("endpointslices",), READ),
    ("events.k8s.io", ("events",), READ),
    ("kueue.x-k8s.io", ("localqueues", "workloads"), READ),
    ("metrics.k8s.io", ("pods",), READ),
    ("networking.k8s.io", ("ingresses", "networkpolicies"), READ),
    ("policy", ("poddisruptionbudgets",), READ),
    ("visibility.kueue.x-k8s.io", ("localqueues/pendingworkloads",), ("get",)),
)  # fmt: skip
"""Rules of all roles. They do not allow access to Secrets."""

EDIT: tuple[PolicyRule, ...] = (
    ("", ("configmaps", "persistentvolumeclaims", "pods", "secrets", "services"), _WRITE),
    ("", ("pods/attach", "pods/exec", "pods/portforward"), ("create", "get")),
    ("apps", ("deployments", "deployments/scale", "statefulsets", "statefulsets/scale"), _WRITE),
    ("autoscaling", ("horizontalpodautoscalers",), _WRITE),
    ("networking.k8s.io", ("ingresses",), _WRITE),
    ("policy", ("poddisruptionbudgets",), _WRITE),
)
"""Additional rules of edit and admin, without the job kinds that Kueue manages."""

ADMIN: tuple[PolicyRule, ...] = (
    ("", ("serviceaccounts",), _WRITE),
    ("", ("serviceaccounts/token",), ("create",)),
)
"""Additional rules of admin. They do not allow changes of Roles, RoleBindings, quotas, NetworkPolicies and queues."""


def member_roles(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields a Role for each role of members in a namespace, and the RoleBinding for the groups with the role."""
    for role in ROLES:
        if members := tenant.members_of(namespace, role):
            groups = dict.fromkeys(group for entry in members for group in entry.spec.groups)
            name, origin = f"gpuc-{role}", members[0].path
            rules, binding = {"rules": documents(_rules(cluster, role))}, bound("Role", name, groups)
            for kind, body in (("Role", rules), ("RoleBinding", binding)):
                yield Manifest(file, origin, RBAC_API, kind, name, body, namespace.name, annotations=wave(0))


def bound(kind: str, role: str, groups: Iterable[str]) -> Body:
    """Returns the body of a binding that gives a role to groups.

    Args:
        kind: the kind of the role, Role or ClusterRole.
    """
    return {
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
    }


def documents(rules: Iterable[PolicyRule]) -> list[Body]:
    """Returns rules as entries of the field `rules` of a role."""
    return [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} for group, resources, verbs in rules
    ]


def _rules(cluster: Cluster, role: Role) -> Iterator[PolicyRule]:
    """Yields the rules of a role. Job kinds that Kueue does not manage are excluded, because they bypass the quota."""
    yield from VIEW
    yield from job_rules(cluster, READ if role == "view" else _WRITE)
    if role != "view":
        yield from EDIT
    if role == "admin":
        yield from ADMIN


def job_rules(cluster: Cluster, verbs: tuple[str, ...]) -> Iterator[PolicyRule]:
    """Yields a rule per job kind. The name of a Kueue integration contains API group and singular name of the kind."""
    for framework in sorted(name for name in cluster.spec.kueue.frameworks if "/" in name):
        group, singular = framework.split("/")
        parents = ("cronjobs",) if framework == "batch/job" else ()
        yield group, (*parents, f"{singular}s"), verbs
