"""What names that lead nowhere do to a cluster, by what they name."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity, fault

DEAD_QUEUE = fault(
    "REF001",
    Severity.ERROR,
    "A queue or flavor of Kueue names an object that does not exist.",
    "Kueue keeps the queue inactive and admits nothing through it; work waits without an event of its own.",
    "Kueue v0.19.2, pkg/cache/scheduler/clusterqueue.go (FlavorNotFound, AdmissionCheckNotFound, TopologyNotFound)",
)
NO_QUEUE = fault(
    "REF002",
    Severity.ERROR,
    "Work names a LocalQueue that its namespace does not have.",
    "Kueue suspends the work and never admits it.",
    "Kueue v0.19.2, pkg/controller/core/workload_controller.go (LocalQueue does not exist)",
)
NO_PRIORITY = fault(
    "REF003",
    Severity.ERROR,
    "Work names a priority class that does not exist.",
    "Without its WorkloadPriorityClass no Workload is made; without its PriorityClass the API server refuses the pods.",
    "Kueue v0.19.2, pkg/util/priority/priority.go; kubernetes v1.35, plugin/pkg/admission/priority",
)
NO_NODE_CLASS = fault(
    "REF004",
    Severity.ERROR,
    "A node pool or overlay of Karpenter names an object that does not exist.",
    "The pool is not ready and starts no node; an overlay of a pool that is not there changes nothing.",
    "Karpenter v1.14.1, pkg/controllers/nodepool/readiness/controller.go",
)
NO_ROLE = fault(
    "REF005",
    Severity.ERROR,
    "A binding names a role or an account that does not exist.",
    "The API server takes the binding and nobody gets a right from it.",
    "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding",
)
NO_SOURCE = fault(
    "REF006",
    Severity.ERROR,
    "Pods need a ConfigMap, Secret, claim, account or class that does not exist.",
    "The pods are refused or stay in ContainerCreating; of a gang that holds its GPUs, all wait.",
    "https://kubernetes.io/docs/concepts/configuration/configmap/",
)
NO_KEY = fault(
    "REF007",
    Severity.ERROR,
    "A key is read that the ConfigMap or Secret does not have.",
    "The container does not start: CreateContainerConfigError, or a volume that is never mounted.",
    "https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/",
)
NO_TEMPLATE = fault(
    "REF008",
    Severity.ERROR,
    "A constraint or policy binding has no template or policy.",
    "The API server does not know the constraint's kind, or the binding binds nothing: the policy is not enforced.",
    "Gatekeeper v3.23, website/docs/howto.md",
)
NO_PROJECT = fault(
    "REF009",
    Severity.ERROR,
    "An Application names an AppProject that does not exist.",
    "Argo CD reports InvalidSpecError and syncs nothing of it.",
    "Argo CD v3.5, docs/user-guide/projects.md",
)
NO_TARGET = fault(
    "REF010",
    Severity.ERROR,
    "A scaler, route, webhook or policy points at an object that does not exist.",
    "It does nothing and says so only in its own status, or in its callers' errors.",
    "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
)
