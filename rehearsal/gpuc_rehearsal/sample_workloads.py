"""Creates sample pods and Jobs for the namespace of a tenant. Policies and Pod Security allow these samples."""

from collections.abc import Iterable, Iterator
from copy import deepcopy

from msgspec import Struct, field

from gpuc.kubernetes.controllers import JOB_CONTROLLER, user
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.model.names import EFA, GPU, POOL_LABEL, SHARED_GPU, TENANT_KEY
from gpuc_rehearsal.client import Object, new_object
from gpuc_rehearsal.context import POD

CONTAINER_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
REPLACE_FAILED: Object = {"podReplacementPolicy": "Failed"}
"""The field of a Job that the policy queue-required demands of Jobs with GPUs."""
ANY_USER = 1000
GPU_VENDORS = ("nvidia.com/", "amd.com/")


class SampleObject(Struct, frozen=True):
    """An object that a test case creates in a tenant namespace."""

    name: str
    """Description of the object, for example "2 nvidia.com/gpu of pool train-h100"."""
    document: Object
    breaks_baseline: bool = False
    """Whether the Pod Security level baseline also forbids the object."""
    devices: dict[str, int] = field(default_factory=dict)
    """Requested devices by resource name."""
    pool: str = ""
    policy: str = ""
    """The only policy that the object violates; empty if it violates no policy."""


class WorkloadFactory(Struct, frozen=True):
    """Creates the sample pods and Jobs for one namespace of a tenant."""

    cluster: Cluster
    tenant: Tenant
    namespace: Namespace

    @property
    def gpu_pools(self) -> tuple[Pool, ...]:
        """The GPU pools that the namespace may use."""
        return tuple(pool for pool in self.pools if pool.is_gpu)

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The node pools that the namespace may use: the pools of its queues and the pools in its ResourceQuota."""
        own = [quota.pool for quota in self.namespace.quotas]
        return tuple({pool.name: pool for pool in (*self.queued_pools, *own)}.values())

    @property
    def queued_pools(self) -> tuple[Pool, ...]:
        """The node pools that the namespace may use through its queues."""
        queued = (pool for queue in self.namespace.queues for pool in queue.pools)
        return tuple({pool.name: pool for pool in queued}.values())

    @property
    def queues(self) -> dict[str, bool]:
        """The names of the LocalQueues of the namespace, each with the value True if the queue has a GPU pool."""
        return {part.name: any(pool.is_gpu for pool in part.pools) for part in self.namespace.cluster_queues}

    @property
    def other_queues(self) -> list[str]:
        """The names of LocalQueues that exist only in other namespaces."""
        names = [name for _, namespace in self.cluster.namespaces for name in namespace.local_queues]
        return [name for name in dict.fromkeys(names) if name not in self.queues]

    @property
    def registry(self) -> str:
        """The prefix of images that the policy `images` allows, for example "registry.example.com/"."""
        return str(self.cluster.policy_settings("images").get("registries", ["registry.example.com/"])[0])

    def pod(self, name: str, pool: Pool | None = None, devices: dict[str, int] | None = None) -> Object:
        """Returns a pod that passes every policy and every Pod Security level.

        `pool` is the node pool that the pod selects; None for any pool. `devices` has the requested amounts, for
        example {"nvidia.com/gpu": 2}.
        """
        quantities = {name: str(amount) for name, amount in (devices or {}).items()}
        resources: Object = {"requests": {"cpu": "10m", "memory": "16Mi", **quantities}}
        if quantities:
            resources["limits"] = quantities
        main: Object = {
            "name": "main",
            "image": f"{self.registry}rehearsal:1",
            "resources": resources,
            "securityContext": deepcopy(CONTAINER_SECURITY),
        }
        if EFA in quantities and self.namespace.nccl:
            main["envFrom"] = [{"configMapRef": {"name": self.namespace.nccl.config_map}}]
        spec: Object = {"restartPolicy": "Never", "securityContext": security_context(pool), "containers": [main]}
        if pool is not None:
            spec["nodeSelector"] = {POOL_LABEL: pool.name}
            spec["tolerations"] = [taint.toleration() for taint in pool.taints]
            spec |= {"priorityClassName": pool.priority_class} if pool.priority_class else {}
        return new_object(*POD, f"rehearsal-{name}", self.namespace.name, spec=spec)

    def sample(self, title: str, name: str, pool: Pool | None, devices: dict[str, int]) -> SampleObject:
        """Returns a pod that requests devices, with a title for reports. The other arguments are those of `pod`."""
        document = self.pod(name, pool, devices)
        return SampleObject(title, document, devices=devices, pool=pool.name if pool else "")

    def job(self, pod: Object, queue: str) -> Object:
        """Returns a Job with one pod, in the LocalQueue `queue`; without a queue if the name is empty."""
        metadata = self.metadata(pod["metadata"]["name"]) | ({"labels": {QUEUE_LABEL: queue}} if queue else {})
        spec = {"suspend": True, "backoffLimit": 0, **REPLACE_FAILED, "template": {"spec": pod["spec"]}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    def queued_job(self, name: str, queue: str) -> Object:
        """Returns a Job in a queue. If the queue has GPU pools, the pod of the Job requests a GPU of the first one."""
        pools = (pool for part in self.namespace.cluster_queues if part.name == queue for pool in part.pools)
        return self.job(self.default_pod(name, pools), queue)

    def metadata(self, name: str) -> Object:
        """Returns the metadata of an object: a name that begins with "rehearsal-", and the namespace."""
        return {"name": f"rehearsal-{name}", "namespace": self.namespace.name}

    def default_pod(self, name: str, pools: Iterable[Pool] | None = None) -> Object:
        """Returns a pod that requests a GPU of the first GPU pool in `pools`, or no GPU if there is no such pool."""
        pool = next((pool for pool in (self.pools if pools is None else pools) if pool.is_gpu), None)
        return self.pod(name, pool, {pool.gpu_resource_names[0]: 1}) if pool else self.pod(name)


def factories(cluster: Cluster) -> list[WorkloadFactory]:
    """Returns a WorkloadFactory for each namespace of each tenant."""
    return [WorkloadFactory(cluster, tenant, namespace) for tenant, namespace in cluster.namespaces]


def distinct_factories(cluster: Cluster) -> list[WorkloadFactory]:
    """Returns WorkloadFactories. Of a tenant's namespaces with equal queues and quotas, only one has a factory."""
    distinct: dict[tuple[object, ...], WorkloadFactory] = {}
    for factory in factories(cluster):
        key = factory.tenant.name, factory.namespace.local_queues, tuple(factory.namespace.hard.items())
        distinct.setdefault(key, factory)
    return list(distinct.values())


def creator(factory: WorkloadFactory, document: Object) -> str:
    """Returns the user who creates an object in a real cluster; empty if a member of the tenant creates the object.

    For example, the Job controller creates the pods with GPUs of Jobs in queues.
    """
    if document["kind"] != "Pod" or not requests_gpu(document["spec"]):
        return ""
    pool = document["spec"].get("nodeSelector", {}).get(POOL_LABEL, "")
    return "" if pool in {quota.pool.name for quota in factory.namespace.quotas} else user(JOB_CONTROLLER)


def security_context(pool: Pool | None) -> Object:
    """Returns the security context of a pod: the user that MPS requires in the pool, or any user except root."""
    user = ANY_USER if pool is None or pool.mps_user is None else pool.mps_user
    return {"runAsNonRoot": True, "runAsUser": user, "seccompProfile": {"type": "RuntimeDefault"}}


def requests_gpu(pod: Object) -> bool:
    """Returns whether a container of a pod requests a GPU, a MIG slice or a GPU share."""
    containers = [*pod.get("containers", ()), *pod.get("initContainers", ())]
    limits = (container.get("resources", {}).get("limits", {}) for container in containers)
    return any(name.startswith(GPU_VENDORS) for names in limits for name in names)


def max_per_pod(pool: Pool, resource: str) -> int:
    """Returns how much of a resource one pod may request. For GPU shares, this is 1: more shares add no compute."""
    return 1 if resource == SHARED_GPU else max(pool.advertised(instance)[resource] for instance in pool.instances)


def permitted_samples(factory: WorkloadFactory) -> Iterator[SampleObject]:
    """Yields sample objects that the API server, every policy and every quota must admit."""
    yield SampleObject("pod without a GPU", factory.pod("plain"))
    for pool in factory.gpu_pools:
        for resource in pool.gpu_resource_names:
            for amount in sorted({1, max_per_pod(pool, resource)}):
                yield factory.sample(f"{amount} {resource} of pool {pool.name}", "gpu", pool, {resource: amount})
        if pool.has_efa:
            devices = {GPU: max_per_pod(pool, GPU), EFA: max_per_pod(pool, EFA)}
            yield factory.sample(f"all GPUs and EFA interfaces of a node of pool {pool.name}", "efa", pool, devices)
    for quota in factory.namespace.quotas:
        if quota.pool.priority_class:
            yield factory.sample(f"pod on pool {quota.pool.name}", "general", quota.pool, {})
    silent = factory.pod("silent")
    del silent["spec"]["containers"][0]["resources"]
    yield SampleObject("pod without requests for cpu and memory, which the LimitRange adds", silent)
    for queue in factory.queues:
        yield SampleObject(f"Job in queue {queue}", factory.queued_job("queued", queue))
    own = namespaces_labelled(TENANT_KEY, factory.tenant.name)
    yield SampleObject(f"ingress from tenant {factory.tenant.name}", network_policy(factory, own))


def network_policy(factory: WorkloadFactory, peer: Object) -> Object:
    """Returns a NetworkPolicy that allows ingress from a peer to all pods of the namespace."""
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [peer]}]}
    return new_object("networking.k8s.io/v1", "NetworkPolicy", "rehearsal-opens", factory.namespace.name, spec=spec)


def namespaces_labelled(label: str, value: str) -> Object:
    """Returns a peer of a NetworkPolicy, which selects all namespaces with a label."""
    return {"namespaceSelector": {"matchLabels": {label: value}}}
