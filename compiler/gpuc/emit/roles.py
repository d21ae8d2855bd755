"""Roles for members of tenants.

The built-in roles edit and admin are not used, because they can write NetworkPolicies and RoleBindings.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

PolicyRule = tuple[str, tuple[str, ...], tuple[str, ...]]
"""API group, resources and verbs."""

VIEW: tuple[PolicyRule, ...] = (
    ("", ("configmaps", "events", "limitranges", "persistentvolumeclaims", "pods", "pods/log", "pods/status",
          "resourcequotas", "serviceaccounts", "services"), _READ),
    ("apps", ("deployments", "replicasets", "statefulsets"), _READ),
    ("autoscaling", ("horizontalpodautoscalers",), _READ),
    ("discovery.k8s.io", ("endpointslices",), _READ),
    ("events.k8s.io", ("events",), _READ),
    ("kueue.x-k8s.io", ("localqueues", "workloads"), _READ),
    ("metrics.k8s.io", ("pods",), _READ),
    ("networking.k8s.io", ("ingresses", "networkpolicies"), _READ),
    ("policy", ("poddisruptionbudgets",), _READ),
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


def member_role(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the Role for the members of a tenant in a namespace, and the RoleBinding for the groups of the members."""
    api, origin, annotations = "rbac.authorization.k8s.io/v1", (*tenant.path, "members"), wave(0)
    role = tenant.spec.members.role
    name = f"gpuc-{role}"
    rules: Body = {"rules": _rules(cluster, role)}
    binding: Body = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
            for group in tenant.spec.members.groups
        ],
    }
    yield Manifest(file, origin, api, "Role", name, rules, namespace.name, annotations=annotations)
    yield Manifest(file, origin, api, "RoleBinding", name, binding, namespace.name, annotations=annotations)


def _rules(cluster: Cluster, role: str) -> list[Body]:
    """Returns the rules of a role. Job kinds that Kueue does not manage are excluded, because they bypass the quota."""
    rules = [*VIEW, *_jobs(cluster, _READ if role == "view" else _WRITE)]
    if role in ("edit", "admin"):
        rules += EDIT
    if role == "admin":
        rules += ADMIN
    return [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} for group, resources, verbs in rules
    ]


def _jobs(cluster: Cluster, verbs: tuple[str, ...]) -> Iterator[PolicyRule]:
    """Yields a rule per job kind. The name of a Kueue integration contains API group and singular name of the kind."""
    for framework in sorted(name for name in cluster.spec.kueue.frameworks if "/" in name):
        group, singular = framework.split("/")
        parents = ("cronjobs",) if framework == "batch/job" else ()
        yield group, (*parents, f"{singular}s"), verbs
