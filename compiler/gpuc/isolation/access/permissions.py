"""The permissions that a tenant must not have, and those of roles that Kubernetes and the chart of Kueue create."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from gpuc.diagnostics.finding import Rule, Severity, declare_rule
from gpuc.kubernetes.api_groups import RBAC
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import by_first

READ = frozenset(("get", "list", "watch"))
CHANGE = frozenset(("create", "delete", "deletecollection", "patch", "update"))
WITHOUT_NAME = frozenset(("create", "deletecollection", "list", "watch"))
"""The verbs of requests without a name, which a rule with resourceNames does not match."""
_ALL = READ | CHANGE
_CREATE = frozenset(("create",))
_WRITE = frozenset(("create", "update", "patch"))
_IMPERSONATE = frozenset(("impersonate",))


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
    _grant("", "pods/attach pods/exec pods/portforward pods/proxy services/proxy secrets", _ALL),
    _grant("", "pods configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale"
        " serviceaccounts services events", CHANGE),
    _grant("", "serviceaccounts", _IMPERSONATE),
    _grant("", "serviceaccounts/token pods/eviction", _CREATE),
    _grant("events.k8s.io", "events", CHANGE),
    _grant("apps", "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale"
        " statefulsets statefulsets/scale", CHANGE),
    _grant("batch", "cronjobs jobs", CHANGE),
    _grant("autoscaling", "horizontalpodautoscalers", CHANGE),
    _grant("networking.k8s.io", "ingresses networkpolicies", CHANGE),
    _grant("policy", "poddisruptionbudgets", CHANGE),
    _grant("coordination.k8s.io", "leases", _ALL),
    _grant("resource.k8s.io", "resourceclaims resourceclaimtemplates", CHANGE),
)  # fmt: skip
_ADMIN = (
    *_EDIT,
    _grant("rbac.authorization.k8s.io", "rolebindings roles", _ALL),
    _grant("authorization.k8s.io", "localsubjectaccessreviews", _CREATE),
)
_BATCH_ADMIN = (_grant(GROUP, "clusterqueues cohorts localqueues resourceflavors topologies workloads", _ALL),)
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

_SOURCE = (
    "k8s.io/kubernetes v1.35 plugin/pkg/auth/authorizer/rbac; kubernetes.io/docs/concepts/security/rbac-good-practices"
)


def _rule(rule_id: str, title: str, why: str, source: str = _SOURCE) -> Rule:
    return declare_rule(rule_id, Severity.ERROR, title, why, source, __name__)


LIMITS = _rule("RBA001", "A tenant can change its own ResourceQuota or LimitRange.",
    "The tenant can raise its own limits and use GPUs of other tenants.")  # fmt: skip
NETWORK = _rule("RBA002", "A tenant can change the NetworkPolicies or CiliumNetworkPolicies of its namespace.",
    "The tenant can open its namespace: the tenant deletes the default-deny policy, or changes the pod selector of the "
    "policy. A constraint on the peers of policies prevents neither change.")  # fmt: skip
QUEUES = _rule("RBA003", "A tenant can change Kueue objects or priority classes.",
    "A tenant that can create LocalQueues can use the quota of other tenants. A tenant that can change the status of "
    "Workloads can admit its own workloads. A tenant that can change priority classes can preempt all other workloads.",
    "kueue.sigs.k8s.io/docs/tasks/manage/rbac; sigs.k8s.io/kueue v0.19.2 config/components/rbac")  # fmt: skip
NAMESPACES = _rule("RBA004", "A tenant can change Namespaces.",
    "The labels of a Namespace determine its tenant, its Pod Security level, "
    "its NetworkPolicies and its constraints.")  # fmt: skip
ROLES = _rule("RBA005", "A tenant can grant permissions or impersonate other users.",
    "With changed roles or bindings, with the verbs bind, escalate and impersonate, or with approved certificates, the "
    "tenant gets permissions that the spec does not declare.")  # fmt: skip
NODES = _rule("RBA006", "A tenant can change nodes, node pools or the placement of pods.",
    "A tenant that can change nodes can run its pods on nodes of other tenants. A tenant that can change node pools "
    "can start nodes.")  # fmt: skip
ADMISSION = _rule("RBA007", "A tenant can change the admission control of the cluster.",
    "Webhooks and policies read and change every object, including the Secrets of other tenants.")  # fmt: skip
OTHER_NAMESPACES = _rule("RBA008", "A tenant can run pods or read Secrets outside of its own namespaces.",
    "Access to pods or Secrets gives the tenant all permissions of the service accounts in the namespace.")  # fmt: skip
WILDCARD = _rule("RBA009", "A wildcard in a role of a tenant grants permissions that the tenant must not have.",
    "A wildcard also includes every resource that is installed later.")  # fmt: skip


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


_CHANGE_EXISTING = CHANGE - _CREATE
_GRANT_VERBS = _WRITE | {"bind", "escalate"}
_ROWS: tuple[tuple[Rule, Scope, str, str, frozenset[str]], ...] = (
    (LIMITS, Scope.ANYWHERE, "", "resourcequotas limitranges", _CHANGE_EXISTING),
    (NETWORK, Scope.ANYWHERE, "networking.k8s.io", "networkpolicies", CHANGE),
    (NETWORK, Scope.ANYWHERE, "cilium.io", "ciliumnetworkpolicies", CHANGE),
    (NETWORK, Scope.CLUSTER, "cilium.io", "ciliumclusterwidenetworkpolicies", CHANGE),
    (QUEUES, Scope.ANYWHERE, "kueue.x-k8s.io", "localqueues workloads", _WRITE),
    (QUEUES, Scope.ANYWHERE, "kueue.x-k8s.io", "workloads/status localqueues/status", CHANGE),
    (QUEUES, Scope.CLUSTER, "kueue.x-k8s.io", "clusterqueues cohorts resourceflavors topologies admissionchecks"
     " workloadpriorityclasses clusterqueues/status", CHANGE),
    (QUEUES, Scope.CLUSTER, "scheduling.k8s.io", "priorityclasses", CHANGE),
    (NAMESPACES, Scope.ANYWHERE, "", "namespaces", _CHANGE_EXISTING),
    (NAMESPACES, Scope.ANYWHERE, "", "namespaces/finalize namespaces/status", CHANGE),
    (NAMESPACES, Scope.CLUSTER, "", "namespaces", _CREATE),
    (ROLES, Scope.ANYWHERE, RBAC, "roles rolebindings", _GRANT_VERBS),
    (ROLES, Scope.CLUSTER, RBAC, "clusterroles clusterrolebindings", _GRANT_VERBS),
    (ROLES, Scope.CLUSTER, "", "users groups", _IMPERSONATE),
    (ROLES, Scope.CLUSTER, "authentication.k8s.io", "uids userextras", _IMPERSONATE),
    (ROLES, Scope.CLUSTER, "certificates.k8s.io", "certificatesigningrequests/approval", CHANGE),
    (NODES, Scope.CLUSTER, "", "nodes nodes/status persistentvolumes", CHANGE),
    (NODES, Scope.CLUSTER, "", "nodes/proxy", _ALL),
    (NODES, Scope.ANYWHERE, "", "pods/binding bindings", _CREATE),
    (NODES, Scope.CLUSTER, "karpenter.sh", "nodepools nodeclaims nodeoverlays", CHANGE),
    (NODES, Scope.CLUSTER, "karpenter.k8s.aws", "ec2nodeclasses", CHANGE),
    (NODES, Scope.CLUSTER, "nvidia.com", "clusterpolicies nvidiadrivers", CHANGE),
    (ADMISSION, Scope.CLUSTER, "admissionregistration.k8s.io", "validatingwebhookconfigurations"
     " mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings"
     " mutatingadmissionpolicies mutatingadmissionpolicybindings", CHANGE),
    (ADMISSION, Scope.CLUSTER, "templates.gatekeeper.sh", "constrainttemplates", CHANGE),
    (ADMISSION, Scope.CLUSTER, "constraints.gatekeeper.sh", "*", CHANGE),
    (ADMISSION, Scope.CLUSTER, "apiextensions.k8s.io", "customresourcedefinitions", CHANGE),
    (ADMISSION, Scope.CLUSTER, "apiregistration.k8s.io", "apiservices", CHANGE),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "", "secrets", _ALL),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "", "pods replicationcontrollers", _WRITE),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "", "pods/exec pods/attach pods/portforward pods/proxy services/proxy"
     " pods/ephemeralcontainers", _ALL),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "", "serviceaccounts/token", _CREATE),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "", "serviceaccounts", _IMPERSONATE),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "apps", "deployments statefulsets daemonsets replicasets", _WRITE),
    (OTHER_NAMESPACES, Scope.OTHER_NAMESPACES, "batch", "jobs cronjobs", _WRITE),
)  # fmt: skip
FORBIDDEN = by_first(
    ((group, resource), ForbiddenPermission(rule, scope, verbs))
    for rule, scope, group, resources, verbs in _ROWS
    for resource in resources.split()
)
"""Forbidden permissions by API group and resource."""


class GrantedPermission(NamedTuple):
    """A forbidden permission that a rule of a role grants."""

    forbidden: ForbiddenPermission
    group: str
    resource: str
    verbs: frozenset[str]
    """The forbidden verbs that the rule grants."""


@lru_cache(maxsize=4096)
def granted_permissions(grant: Grant) -> tuple[GrantedPermission, ...]:
    """Returns the forbidden permissions that a rule of a role grants."""
    granted = []
    for key, permissions in FORBIDDEN.items():
        for forbidden in permissions if _matches(grant, *key) else ():
            verbs = forbidden.verbs if "*" in grant.verbs else forbidden.verbs & grant.verbs
            if verbs := verbs - WITHOUT_NAME if grant.names else verbs:
                granted.append(GrantedPermission(forbidden, *key, verbs))
    return tuple(granted)


def has_wildcard(grant: Grant) -> bool:
    """Returns whether a rule has a wildcard for API groups or resources."""
    return "*" in grant.groups or "*" in grant.resources


def _matches(grant: Grant, group: str, resource: str) -> bool:
    """Returns whether a rule matches a key of FORBIDDEN; "*/scale" matches the subresource "scale" of all resources."""
    if resource == "*" and group in grant.groups:  # all resources of the group are forbidden
        return any(not pattern.startswith("*/") for pattern in grant.resources)
    return bool({group, "*"} & set(grant.groups)) and any(
        pattern in ("*", resource) or (pattern.startswith("*/") and resource.endswith(pattern[1:]))
        for pattern in grant.resources
    )
