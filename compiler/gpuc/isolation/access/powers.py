"""What a tenant must not be able to do, and which rules of roles let it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from gpuc.diagnostics.finding import Rule, Severity, declare_rule
from gpuc.isolation.access.builtin import CHANGE, READ, Grant

_RBAC = "rbac.authorization.k8s.io"
_SOURCE = (
    "k8s.io/kubernetes v1.35 plugin/pkg/auth/authorizer/rbac; kubernetes.io/docs/concepts/security/rbac-good-practices"
)

LIMITS = declare_rule(
    "RBA001",
    Severity.ERROR,
    "A tenant may change its own ResourceQuota or LimitRange.",
    "What bounds it is then its own choice: it takes GPUs that belong to others.",
    source=_SOURCE,
)
NETWORK = declare_rule(
    "RBA002",
    Severity.ERROR,
    "A tenant may change the NetworkPolicies of its namespace.",
    "Deleting the denial, or selecting no pods with it, opens the namespace; a constraint on the peers of policies "
    "judges neither.",
    source=_SOURCE,
)
QUEUES = declare_rule(
    "RBA003",
    Severity.ERROR,
    "A tenant may change objects of Kueue or priorities.",
    "With a LocalQueue it uses another's quota, with the status of a Workload it admits itself, with a priority it "
    "preempts everybody.",
    source="kueue.sigs.k8s.io/docs/tasks/manage/rbac; sigs.k8s.io/kueue v0.19.2 config/components/rbac",
)
NAMESPACES = declare_rule(
    "RBA004",
    Severity.ERROR,
    "A tenant may change Namespaces.",
    "Their labels decide whose they are, what Pod Security enforces and which NetworkPolicies and constraints hold.",
    source=_SOURCE,
)
ROLES = declare_rule(
    "RBA005",
    Severity.ERROR,
    "A tenant may hand out rights or act as somebody else.",
    "Roles, bindings, bind, escalate, impersonation and certificates give rights that the spec does not know of.",
    source=_SOURCE,
)
MACHINERY = declare_rule(
    "RBA006",
    Severity.ERROR,
    "A tenant may change nodes, or what makes and places them.",
    "Whoever labels, taints or talks to nodes runs among other tenants' pods; whoever changes pools spends the money.",
    source=_SOURCE,
)
ADMISSION = declare_rule(
    "RBA007",
    Severity.ERROR,
    "A tenant may change what is admitted to the cluster.",
    "Webhooks and policies see and change every object, other tenants' Secrets included.",
    source=_SOURCE,
)
ELSEWHERE = declare_rule(
    "RBA008",
    Severity.ERROR,
    "A tenant may work in a namespace that is not its own.",
    "Who runs pods, executes commands or reads Secrets in a namespace has everything that its service accounts have.",
    source=_SOURCE,
)
WILDCARD = declare_rule(
    "RBA009",
    Severity.ERROR,
    "A wildcard in a tenant's role grants what fences the tenant in.",
    "A star also stands for every resource that is installed later.",
    source=_SOURCE,
)


class Scope(Enum):
    """Where holding a power is a finding."""

    ANYWHERE = "anywhere"
    """In the tenant's own namespaces too."""
    CLUSTER = "cluster"
    """Of objects of the cluster's scope: a RoleBinding grants nothing on them."""
    ELSEWHERE = "elsewhere"
    """Only outside of the tenant's own namespaces."""


class Power(NamedTuple):
    """Verbs on a resource that a tenant must not have."""

    rule: Rule
    scope: Scope
    verbs: frozenset[str]


_EDITS = CHANGE - {"create"}
_HAND_OUT = frozenset(("create", "update", "patch", "bind", "escalate"))
_IMPERSONATE = frozenset(("impersonate",))
_ALL = READ | CHANGE
_ROWS: tuple[tuple[Rule, Scope, str, str, frozenset[str]], ...] = (
    (LIMITS, Scope.ANYWHERE, "", "resourcequotas limitranges", _EDITS),
    (NETWORK, Scope.ANYWHERE, "networking.k8s.io", "networkpolicies", CHANGE),
    (QUEUES, Scope.ANYWHERE, "kueue.x-k8s.io", "localqueues workloads", frozenset(("create", "update", "patch"))),
    (QUEUES, Scope.ANYWHERE, "kueue.x-k8s.io", "workloads/status localqueues/status", CHANGE),
    (QUEUES, Scope.CLUSTER, "kueue.x-k8s.io", "clusterqueues cohorts resourceflavors topologies admissionchecks"
     " workloadpriorityclasses clusterqueues/status", CHANGE),
    (QUEUES, Scope.CLUSTER, "scheduling.k8s.io", "priorityclasses", CHANGE),
    (NAMESPACES, Scope.ANYWHERE, "", "namespaces", _EDITS),
    (NAMESPACES, Scope.ANYWHERE, "", "namespaces/finalize namespaces/status", CHANGE),
    (NAMESPACES, Scope.CLUSTER, "", "namespaces", frozenset(("create",))),
    (ROLES, Scope.ANYWHERE, _RBAC, "roles rolebindings", _HAND_OUT),
    (ROLES, Scope.CLUSTER, _RBAC, "clusterroles clusterrolebindings", _HAND_OUT),
    (ROLES, Scope.CLUSTER, "", "users groups", _IMPERSONATE),
    (ROLES, Scope.CLUSTER, "authentication.k8s.io", "uids userextras", _IMPERSONATE),
    (ROLES, Scope.CLUSTER, "certificates.k8s.io", "certificatesigningrequests/approval", CHANGE),
    (MACHINERY, Scope.CLUSTER, "", "nodes nodes/status persistentvolumes", CHANGE),
    (MACHINERY, Scope.CLUSTER, "", "nodes/proxy", _ALL),
    (MACHINERY, Scope.ANYWHERE, "", "pods/binding bindings", frozenset(("create",))),
    (MACHINERY, Scope.CLUSTER, "karpenter.sh", "nodepools nodeclaims nodeoverlays", CHANGE),
    (MACHINERY, Scope.CLUSTER, "karpenter.k8s.aws", "ec2nodeclasses", CHANGE),
    (MACHINERY, Scope.CLUSTER, "nvidia.com", "clusterpolicies nvidiadrivers", CHANGE),
    (ADMISSION, Scope.CLUSTER, "admissionregistration.k8s.io", "validatingwebhookconfigurations"
     " mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings"
     " mutatingadmissionpolicies mutatingadmissionpolicybindings", CHANGE),
    (ADMISSION, Scope.CLUSTER, "templates.gatekeeper.sh", "constrainttemplates", CHANGE),
    (ADMISSION, Scope.CLUSTER, "constraints.gatekeeper.sh", "*", CHANGE),
    (ADMISSION, Scope.CLUSTER, "apiextensions.k8s.io", "customresourcedefinitions", CHANGE),
    (ADMISSION, Scope.CLUSTER, "apiregistration.k8s.io", "apiservices", CHANGE),
    (ELSEWHERE, Scope.ELSEWHERE, "", "secrets", _ALL),
    (ELSEWHERE, Scope.ELSEWHERE, "", "pods replicationcontrollers", frozenset(("create", "update", "patch"))),
    (ELSEWHERE, Scope.ELSEWHERE, "", "pods/exec pods/attach pods/portforward pods/proxy services/proxy"
     " pods/ephemeralcontainers", _ALL),
    (ELSEWHERE, Scope.ELSEWHERE, "", "serviceaccounts/token", frozenset(("create",))),
    (ELSEWHERE, Scope.ELSEWHERE, "", "serviceaccounts", _IMPERSONATE),
    (ELSEWHERE, Scope.ELSEWHERE, "apps", "deployments statefulsets daemonsets replicasets",
     frozenset(("create", "update", "patch"))),
    (ELSEWHERE, Scope.ELSEWHERE, "batch", "jobs cronjobs", frozenset(("create", "update", "patch"))),
)  # fmt: skip
POWERS: dict[tuple[str, str], list[Power]] = {}
"""By API group and resource."""
for _fault, _scope, _group, _resources, _verbs in _ROWS:
    for _resource in _resources.split():
        POWERS.setdefault((_group, _resource), []).append(Power(_fault, _scope, _verbs))


class Held(NamedTuple):
    """A power that a rule grants."""

    power: Power
    group: str
    resource: str
    verbs: frozenset[str]
    """Those of the power that the rule grants."""


def held(grant: Grant) -> Iterator[Held]:
    """The powers that a rule grants."""
    for group, resource in _reached(grant):
        for power in POWERS[group, resource]:
            verbs = power.verbs if "*" in grant.verbs else power.verbs & grant.verbs
            if grant.names:
                # A rule about named objects matches no request without a name.
                verbs -= {"create", "deletecollection", "list", "watch"}
            if verbs:
                yield Held(power, group, resource, verbs)


def is_wild(grant: Grant) -> bool:
    """Whether it stands for resources that nobody has named."""
    return "*" in grant.groups or "*" in grant.resources


def _reached(grant: Grant) -> Iterator[tuple[str, str]]:
    """Keys of the powers that a rule speaks of. A star is everything, and "*/scale" that part of everything."""
    if not is_wild(grant) and not any(resource.startswith("*/") for resource in grant.resources):
        for group in grant.groups:
            whole = (group, "*") in POWERS
            for resource in dict.fromkeys("*" if whole else each for each in grant.resources):
                if (group, resource) in POWERS:
                    yield group, resource
        return
    for group, resource in POWERS:
        if ("*" in grant.groups or group in grant.groups) and any(
            wanted in ("*", resource) or (wanted.startswith("*/") and resource.endswith(wanted[1:]))
            for wanted in grant.resources
        ):
            yield group, resource
