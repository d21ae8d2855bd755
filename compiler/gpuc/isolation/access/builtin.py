"""The permissions of ClusterRoles that exist without an object: those of Kubernetes and of Kueue's chart."""

from __future__ import annotations

from typing import NamedTuple

READ = frozenset(("get", "list", "watch"))
CHANGE = frozenset(("create", "delete", "deletecollection", "patch", "update"))


class Grant(NamedTuple):
    """The permissions of one rule of a role."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: frozenset[str]
    names: tuple[str, ...] = ()
    """The names of the objects that the rule applies to; empty for all objects."""


def _of(group: str, resources: str, verbs: frozenset[str]) -> Grant:
    return Grant((group,), tuple(resources.split()), verbs)


_VIEW = (
    _of("", "configmaps endpoints persistentvolumeclaims pods pods/log pods/status resourcequotas"
        " replicationcontrollers limitranges serviceaccounts services namespaces events bindings", READ),
    _of("apps", "controllerrevisions daemonsets deployments replicasets statefulsets", READ),
    _of("batch", "cronjobs jobs", READ),
    _of("autoscaling", "horizontalpodautoscalers", READ),
    _of("networking.k8s.io", "ingresses networkpolicies", READ),
    _of("policy", "poddisruptionbudgets", READ),
    _of("discovery.k8s.io", "endpointslices", READ),
    _of("resource.k8s.io", "resourceclaims resourceclaimtemplates", READ),
)  # fmt: skip
_EDIT = (
    *_VIEW,
    _of("", "pods/attach pods/exec pods/portforward pods/proxy services/proxy secrets", READ | CHANGE),
    _of("", "pods configmaps persistentvolumeclaims replicationcontrollers serviceaccounts services events", CHANGE),
    _of("", "serviceaccounts", frozenset(("impersonate",))),
    _of("", "serviceaccounts/token pods/eviction", frozenset(("create",))),
    _of("apps", "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets"
        " statefulsets/scale", CHANGE),
    _of("batch", "cronjobs jobs", CHANGE),
    _of("autoscaling", "horizontalpodautoscalers", CHANGE),
    _of("networking.k8s.io", "ingresses networkpolicies", CHANGE),
    _of("policy", "poddisruptionbudgets", CHANGE),
    _of("coordination.k8s.io", "leases", READ | CHANGE),
    _of("resource.k8s.io", "resourceclaims resourceclaimtemplates", CHANGE),
)  # fmt: skip
_ADMIN = (
    *_EDIT,
    _of("rbac.authorization.k8s.io", "rolebindings roles", READ | CHANGE),
    _of("authorization.k8s.io", "localsubjectaccessreviews", frozenset(("create",))),
)
_KUEUE = "kueue.x-k8s.io"
_BATCH_ADMIN = (_of(_KUEUE, "clusterqueues cohorts localqueues resourceflavors topologies workloads", READ | CHANGE),)
_EVERYTHING = (Grant(("*",), ("*",), frozenset("*")),)

BUILTIN: dict[str, tuple[Grant, ...]] = {
    "view": _VIEW,
    "edit": _EDIT,
    "admin": _ADMIN,
    "cluster-admin": _EVERYTHING,
    "kueue-batch-admin-role": _BATCH_ADMIN,
}
"""Permissions by the name of the role, without the permissions for jobs in Kueue's batch roles.

Source: k8s.io/kubernetes v1.35 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go;
sigs.k8s.io/kueue v0.19.2 config/components/rbac
"""
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
WIDER: dict[str, tuple[str, ...]] = {"view": ("view", "edit", "admin"), "edit": ("edit", "admin"), "admin": ("admin",)}
"""The built-in roles that receive the permissions of a ClusterRole with an aggregation label."""
