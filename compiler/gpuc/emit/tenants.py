"""Objects of tenants: namespaces, quotas, roles, ServiceAccounts, NetworkPolicies, NCCL variables and LocalQueues."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.network import network_policies
from gpuc.emit.roles import auditors, member_roles
from gpuc.emit.sync import protected, protected_until_leaving, wave
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, quantity_text, texts
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Namespace, Profile, Tenant
from gpuc.model.names import COST_LABEL, ENVIRONMENT_LABEL, IAM_ROLE, TENANT_KEY
from gpuc.model.tenant import DEFAULT_REQUEST
from gpuc.parts.workload_kinds import family_modules

JOBS_MAX = 1000
"""Maximum number of Jobs in a namespace, finished Jobs included. The limit protects etcd if a loop creates Jobs."""

SYSTEM_PRIORITY_CLASSES = ("system-cluster-critical", "system-node-critical")
"""All PriorityClasses whose name begins with `system-`: Kubernetes reserves the prefix.

Source: kubernetes/kubernetes v1.35.4 pkg/apis/scheduling/validation/validation.go
"""

PRIORITIES_FILE = "tenants/pods.priority.yaml"
CLASSES_FILE = "tenants/pools.priority.yaml"
"""The paths below out/<cluster>/. The name of a tenant contains no dot, so that no file of a tenant has these paths."""

VOLUME_CLAIMS_MAX = 100
"""Maximum number of PersistentVolumeClaims that members create in a namespace."""


def tenants(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the objects of each tenant, the role of the auditors, and the PriorityClasses of pools.

    Each tenant has one file, in which the Namespaces come first.
    """
    yield from auditors(cluster)
    yield from _priority_classes(cluster)
    for tenant in cluster.tenants:
        file = cluster.out(f"tenants/{tenant.name}.yaml")
        for namespace in tenant.namespaces:
            yield _namespace(cluster, tenant, namespace, file)
        for namespace in tenant.namespaces:
            yield from _namespace_content(cluster, tenant, namespace, file)
        for module in family_modules("runtimes") if tenant.runs else ():
            yield from module.synced(cluster, tenant, file)


def _namespace(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Manifest:
    level, version = namespace.spec.pod_security, f"v{cluster.spec.kubernetes}"
    labels = {
        TENANT_KEY: tenant.name,
        ENVIRONMENT_LABEL: cluster.spec.environment,
        COST_LABEL: tenant.spec.cost_centre,
    }
    for mode in ("enforce", "audit", "warn"):
        labels[f"pod-security.kubernetes.io/{mode}"] = level
        # A fixed version: with "latest", an upgrade of Kubernetes would change the rules for existing workloads.
        labels[f"pod-security.kubernetes.io/{mode}-version"] = version
    annotations = protected(cluster, -1)
    return Manifest(file, namespace.path, "v1", "Namespace", namespace.name, {}, labels=labels, annotations=annotations)


def _namespace_content(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the objects in a namespace. Objects that restrict the tenant are protected from pruning."""
    yield _quota(cluster, namespace, file)
    yield from _part_quotas(cluster, namespace, file)
    yield _no_system_pods(cluster, tenant, namespace, file)
    yield _default_requests(namespace, file)
    yield from member_roles(cluster, tenant, namespace, file)
    yield from _service_accounts(tenant, namespace, file)
    if tenant.isolates_network:
        yield from network_policies(cluster, tenant, namespace, file)
    if namespace.nccl is not None:
        yield _nccl_environment(tenant, namespace, namespace.nccl, file)
    yield from _local_queues(tenant, namespace, file)


def _quota(cluster: Cluster, namespace: Namespace, file: str) -> Manifest:
    """Returns the ResourceQuota of a namespace: the ceiling of its queues, and its quota on pools without Kueue.

    Namespaces with the same queues have the same ceiling, because Kueue divides the quota between the namespaces. A
    lower ResourceQuota would reject pods of admitted workloads. There is no limits.memory, because Kueue counts only
    requests. Resources for which the namespace has no quota have the value "0".

    Source: Kubernetes documentation, resource quotas; kubernetes-sigs/kueue issue 696
    """
    names = [CPU, MEMORY, EPHEMERAL_STORAGE]
    names += sorted({name for pool in cluster.pools for name in pool.advertised_names})
    hard = {f"requests.{name}": quantity_text(name, namespace.hard.get(name, 0)) for name in names}
    claims = VOLUME_CLAIMS_MAX + len(namespace.spec.volumes)
    hard |= {
        "count/jobs.batch": quantity_text("count/jobs.batch", JOBS_MAX),
        "persistentvolumeclaims": quantity_text("persistentvolumeclaims", claims),
        # Without these limits, a member could open the namespace to the internet with a Service.
        "services.loadbalancers": str(namespace.spec.exposed.load_balancers),
        "services.nodeports": str(namespace.spec.exposed.node_ports),
    }
    body, annotations = {"spec": {"hard": hard}}, protected(cluster, 0)
    return Manifest(file, namespace.path, "v1", "ResourceQuota", "gpuc", body, namespace.name, annotations=annotations)


def _priority_classes(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the PriorityClasses of pools without GPUs that ResourceQuotas count, and of the priorities of pods.

    The PriorityClass of a pool has the value 0, which pods without a PriorityClass also have. So it does not change the
    order of pods.
    """
    for name, priority in cluster.spec.priorities.items():
        if priority.pods:
            policy = "PreemptLowerPriority" if priority.preemption == "lower" else "Never"
            body = {"value": priority.value, "preemptionPolicy": policy, "description": f"Pods of priority {name}"}
            path, annotations = ("spec", "priorities", name), protected(cluster, -1)
            file, api = cluster.out(PRIORITIES_FILE), "scheduling.k8s.io/v1"
            yield Manifest(file, path, api, "PriorityClass", name, body, annotations=annotations)
    for pool in cluster.pools if cluster.tenants else ():
        if pool.priority_class:
            text = f"Pods on node pool {pool.name}, which a ResourceQuota of their namespace counts"
            annotations = protected_until_leaving(cluster, -1, leaving=pool.spec.leaving)
            file, body = cluster.out(CLASSES_FILE), {"value": 0, "description": text}
            api, name = "scheduling.k8s.io/v1", pool.priority_class
            yield Manifest(file, pool.path, api, "PriorityClass", name, body, annotations=annotations)


def _part_quotas(cluster: Cluster, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the ResourceQuotas of pods with the PriorityClass of a pool, and of all other pods of the namespace.

    Without the ResourceQuota of all other pods, pods on GPU nodes could use the cores that the namespace has on another
    pool. With the scope PriorityClass, a ResourceQuota can have only pods, cpu and memory, so `gpuc` counts the disk of
    all pods together.

    Source: kubernetes/kubernetes v1.35.4 pkg/apis/core/helper/helpers.go (IsResourceQuotaScopeValidForResource)
    """
    classes = [name for name in namespace.parts if name]
    for name, amounts in namespace.parts.items():
        scope = ("In", [name]) if name else ("NotIn", classes)
        hard = {f"requests.{key}": quantity_text(key, amount) for key, amount in amounts.items()}
        yield _scoped_quota(cluster, namespace, file, name or "gpuc-other-pools", hard, *scope)


def _no_system_pods(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Manifest:
    """Returns the ResourceQuota that refuses pods with certain PriorityClasses.

    A pod with a PriorityClass of system components would preempt Kueue and the pods of other tenants. The PriorityClass
    of a pool is refused if the namespace has no quota of the pool. Policies also refuse these pods, but a policy can be
    at the stage warn.
    """
    foreign = [pool.priority_class for pool in cluster.pools if pool.priority_class not in ("", *namespace.parts)]
    allowed = cluster.priorities_of(tenant.name)
    foreign += [name for name, row in cluster.spec.priorities.items() if row.pods and name not in allowed]
    classes = [*SYSTEM_PRIORITY_CLASSES, *foreign]
    return _scoped_quota(cluster, namespace, file, "gpuc-system-priority", {"pods": "0"}, "In", classes)


def _scoped_quota(
    cluster: Cluster, namespace: Namespace, file: str, name: str, hard: Body, operator: str, classes: list[str]
) -> Manifest:
    """Returns a ResourceQuota that counts only pods with certain PriorityClasses, or only pods without them.

    Source: kubernetes/kubernetes v1.35.4 pkg/quota/v1/evaluator/core/pods.go (podMatchesScopeFunc)
    """
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": classes}
    body: Body = {"spec": {"hard": hard, "scopeSelector": {"matchExpressions": [scope]}}}
    annotations = protected(cluster, 0)
    return Manifest(file, namespace.path, "v1", "ResourceQuota", name, body, namespace.name, annotations=annotations)


def _default_requests(namespace: Namespace, file: str) -> Manifest:
    """Returns the LimitRange with default requests for containers without requests, and without default limits.

    A default limit would also apply to a container with only a request. If the request is larger than the default
    limit, the API server would reject the pod.
    """
    limits = [{"type": "Container", "defaultRequest": texts(DEFAULT_REQUEST)}]
    body: Body = {"spec": {"limits": limits}}
    return Manifest(file, namespace.path, "v1", "LimitRange", "gpuc", body, namespace.name, annotations=wave(0))


def _service_accounts(tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the ServiceAccounts with roles in the cloud.

    The cloud finds the role of a pod by the namespace and the name of its ServiceAccount. A ServiceAccount is not
    protected from pruning: it contains no data, and its pods lose the role when the ServiceAccount leaves the spec.
    """
    for name, account in namespace.spec.service_accounts.items():
        path: Path = (*namespace.path, "serviceAccounts", name)
        annotations = {**wave(0), IAM_ROLE: account.role}
        body: Body = {"automountServiceAccountToken": tenant.spec.network.api_server}
        yield Manifest(file, path, "v1", "ServiceAccount", name, body, namespace.name, annotations=annotations)


def _nccl_environment(tenant: Tenant, namespace: Namespace, profile: Profile, file: str) -> Manifest:
    """Returns the ConfigMap with the NCCL variables for EFA. Variables of the profile override the defaults.

    No variable sets a provider or a protocol, because the OFI plugin of NCCL detects EFA and selects its settings.

    Source: catalog, verdicts on NCCL settings
    """
    data = {"NCCL_DEBUG": profile.spec.debug, "NCCL_SOCKET_IFNAME": "eth0"}
    if any(pool.has_efa and not pool.hugepages_bytes for pool in tenant.pools):
        # Otherwise libfabric tries to use huge pages on nodes without huge pages.
        data["FI_EFA_USE_HUGE_PAGE"] = "0"
    data |= profile.spec.env
    name, body = profile.config_map, {"data": data}
    return Manifest(file, profile.path, "v1", "ConfigMap", name, body, namespace.name, annotations=wave(0))


def _local_queues(tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the LocalQueues. If the queue, tenant or namespace is leaving, the LocalQueue admits no new workloads.

    Running workloads continue. gpuc does not set stopPolicy of the ClusterQueue: engineers set it in an incident, and
    Argo CD ignores the difference.

    Source: kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/localqueue_types.go
    """
    for queue in namespace.queues:
        is_leaving = queue.spec.leaving or tenant.spec.leaving or namespace.spec.leaving
        for name in (cluster_queue.name for cluster_queue in queue.cluster_queues):
            body: Body = {"spec": {"clusterQueue": name, "stopPolicy": "Hold" if is_leaving else "None"}}
            yield Manifest(file, queue.path, KUEUE_API, "LocalQueue", name, body, namespace.name, annotations=wave(2))
