"""The permissions of the ClusterRoles that Kubernetes and the Helm chart of Kueue create."""

from __future__ import annotations

from typing import NamedTuple

from gpuc.kubernetes.kueue import GROUP

READ = frozenset(("get", "list", "watch"))
CHANGE = frozenset(("create", "delete", "deletecollection", "patch", "update"))
WITHOUT_NAME = frozenset(("create", "deletecollection", "list", "watch"))
"""The verbs of requests without a name, which a rule with resourceNames does not match."""


class Grant(NamedTuple):
    """The permissions of one rule of a role."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: frozenset[str]
    names: tuple[str, ...] = ()
    """The names of the objects that the rule applies to; empty for all objects."""


def _grant(group: str, resources: str, verbs: frozenset[str]) -> Grant:
    return Grant((group,), tuple(resources.split()), verbs)


_VIEW = (
    _grant("", "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods pods/log pods/status"
        " resourcequotas resourcequotas/status replicationcontrollers replicationcontrollers/scale"
        " replicationcontrollers/status limitranges serviceaccounts services services/status namespaces"
        " namespaces/status events bindings", READ),
    _grant("events.k8s.io", "events", READ),
    _grant("apps", "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status"
        " replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status", READ),
    _grant("batch", "cronjobs cronjobs/status jobs jobs/status", READ),
    _grant("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", READ),
    _grant("networking.k8s.io", "ingresses ingresses/status networkpolicies", READ),
    _grant("policy", "poddisruptionbudgets poddisruptionbudgets/status", READ),
    _grant("discovery.k8s.io", "endpointslices", READ),
    _grant("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates", READ),
)  # fmt: skip
_EDIT = (
    *_VIEW,
    _grant("", "pods/attach pods/exec pods/portforward pods/proxy services/proxy secrets", READ | CHANGE),
    _grant("", "pods configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale"
        " serviceaccounts services events", CHANGE),
    _grant("", "serviceaccounts", frozenset(("impersonate",))),
    _grant("", "serviceaccounts/token pods/eviction", frozenset(("create",))),
    _grant("events.k8s.io", "events", CHANGE),
    _grant("apps", "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale"
        " statefulsets statefulsets/scale", CHANGE),
    _grant("batch", "cronjobs jobs", CHANGE),
    _grant("autoscaling", "horizontalpodautoscalers", CHANGE),
    _grant("networking.k8s.io", "ingresses networkpolicies", CHANGE),
    _grant("policy", "poddisruptionbudgets", CHANGE),
    _grant("coordination.k8s.io", "leases", READ | CHANGE),
    _grant("resource.k8s.io", "resourceclaims resourceclaimtemplates", CHANGE),
)  # fmt: skip
_ADMIN = (
    *_EDIT,
    _grant("rbac.authorization.k8s.io", "rolebindings roles", READ | CHANGE),
    _grant("authorization.k8s.io", "localsubjectaccessreviews", frozenset(("create",))),
)
_BATCH_ADMIN = (_grant(GROUP, "clusterqueues cohorts localqueues resourceflavors topologies workloads", READ | CHANGE),)
_EVERYTHING = (Grant(("*",), ("*",), frozenset("*")),)

BUILTIN: dict[str, tuple[Grant, ...]] = {
    "view": _VIEW,
    "edit": _EDIT,
    "admin": _ADMIN,
    "cluster-admin": _EVERYTHING,
    "kueue-batch-admin-role": _BATCH_ADMIN,
}
"""Permissions by the name of the ClusterRole, without the permissions for jobs in the batch roles of Kueue, and without
the API group extensions, which no API server serves any more.

Source: k8s.io/kubernetes v1.35 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go;
sigs.k8s.io/kueue v0.19.2 config/components/rbac
"""
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
"""The prefix of the labels with which a ClusterRole adds its permissions to a built-in role."""
RECEIVERS: dict[str, tuple[str, ...]] = {
    "view": ("view", "edit", "admin"),
    "edit": ("edit", "admin"),
    "admin": ("admin",),
}
"""The built-in roles that receive the permissions of a ClusterRole, by the end of its aggregation label."""
