"""Roles of tenants' members: our own, because the built-in edit and admin write NetworkPolicies and RoleBindings."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

PolicyRule = tuple[str, tuple[str, ...], tuple[str, ...]]
"""API group, resources, verbs."""

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
"""What everybody reads; no secrets."""

EDIT: tuple[PolicyRule, ...] = (
    ("", ("configmaps", "persistentvolumeclaims", "pods", "secrets", "services"), _WRITE),
    ("", ("pods/attach", "pods/exec", "pods/portforward"), ("create", "get")),
    ("apps", ("deployments", "deployments/scale", "statefulsets", "statefulsets/scale"), _WRITE),
    ("autoscaling", ("horizontalpodautoscalers",), _WRITE),
    ("networking.k8s.io", ("ingresses",), _WRITE),
    ("policy", ("poddisruptionbudgets",), _WRITE),
)
"""What runs work, beside the queued kinds of jobs."""

ADMIN: tuple[PolicyRule, ...] = (
    ("", ("serviceaccounts",), _WRITE),
    ("", ("serviceaccounts/token",), ("create",)),
)
"""What admins manage besides; never roles, bindings, quotas, network policies or queues."""


def member_role(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """The Role of a tenant's members in a namespace, and its binding to their groups."""
    api, origin, notes = "rbac.authorization.k8s.io/v1", (*tenant.path, "members"), wave(0)
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
    yield Manifest(file, origin, api, "Role", name, rules, namespace.name, annotations=notes)
    yield Manifest(file, origin, api, "RoleBinding", name, binding, namespace.name, annotations=notes)


def _rules(cluster: Cluster, role: str) -> list[Body]:
    """Only queued kinds of jobs: one that Kueue does not manage would run around the quota."""
    rules = [*VIEW, *_jobs(cluster, _READ if role == "view" else _WRITE)]
    if role in ("edit", "admin"):
        rules += EDIT
    if role == "admin":
        rules += ADMIN
    return [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} for group, resources, verbs in rules
    ]


def _jobs(cluster: Cluster, verbs: tuple[str, ...]) -> Iterator[PolicyRule]:
    """The rule of each kind of job; Kueue's name of a kind is its API group and its singular."""
    for framework in sorted(cluster.spec.kueue.frameworks):
        group, singular = framework.split("/")
        more = ("cronjobs",) if framework == "batch/job" else ()
        yield group, (*more, f"{singular}s"), verbs
