"""The work that fills a cluster before a change: Jobs at the quota of each queue, Deployments at that of namespaces.

Few pods run on simulated nodes, so that a transition takes seconds. The rest of a quota is used without nodes: by a Job
that no controller gives pods, or by pods that no scheduler places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from gpuc.model import Cluster, Pool
from gpuc.model.queue import ClusterQueue, PoolQuota, Queue
from gpuc.model.tenant import Namespace, NamespaceQuota, Tenant
from gpuc.rehearse.client import Object
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.sample_workloads import WorkloadFactory, max_per_pod
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work, job_of
from gpuc.rehearse.suites.serving import replicated

NODES = 2
"""Maximum number of nodes for each pair of a queue, or a namespace with a quota, and a pool.

Two nodes are enough for two zones, two capacity types and two instance types.
"""
REST_PODS = 128
"""Maximum number of pods that use the rest of a ResourceQuota. A larger rest stays unused."""
NO_SCHEDULER = "gpuc-rehearsal-no-scheduler"
DO_NOT_DISRUPT = {"karpenter.sh/do-not-disrupt": "true"}
"""Annotation of the pods of runs, as in the workload templates.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1/labels.go (DoNotDisruptAnnotationKey)
"""


@dataclass(frozen=True)
class Filling:
    """A workload that uses quota before the change."""

    document: Object
    tenant: str = ""
    queue: str = ""
    """The queue of the spec; empty for a workload that a ResourceQuota counts."""
    pool: str = ""
    pods: int = 0
    """Number of pods that must run on nodes; 0 for a workload that only uses quota."""

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.document["metadata"]["namespace"])

    @property
    def local_queue(self) -> str:
        return str(self.document["metadata"].get("labels", {}).get(QUEUE_LABEL, ""))

    @property
    def address(self) -> tuple[str, str, str, str]:
        """The positional arguments of Client.find and Client.delete."""
        return self.document["apiVersion"], self.kind, self.name, self.namespace

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def fillings(cluster: Cluster, *, keeps_all: bool = False) -> list[Filling]:
    """Returns the workloads that fill the quotas of a cluster.

    keeps_all: whether no pod may be disrupted, so that Karpenter replaces no drifted node during the observation.
    """
    found = [*_of_queues(cluster), *_of_namespaces(cluster)]
    pools = {pool.name: pool for pool in cluster.pools}
    for filling in found:
        if filling.pods and (keeps_all or pools[filling.pool].keeps_runs):
            metadata = filling.document["spec"]["template"].setdefault("metadata", {})
            metadata["annotations"] = metadata.get("annotations", {}) | DO_NOT_DISRUPT
    return found


def _of_queues(cluster: Cluster) -> Iterator[Filling]:
    """Yields for each queue, pool and GPU resource Jobs with one node, and a Job that uses the rest of the quota."""
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            if not any(part.name in namespace.local_queues for _, namespace in cluster.namespaces):
                continue
            for pool_quota in part.pool_quotas:
                for number, gang in enumerate(gangs(pool_quota).values(), 1):
                    yield from _of_gang(cluster, queue, part, pool_quota, (number, gang))


def _of_gang(
    cluster: Cluster, queue: Queue, part: ClusterQueue, pool_quota: PoolQuota, numbered: tuple[int, Request]
) -> Iterator[Filling]:
    number, gang = numbered
    pool = pool_quota.pool
    # At least one unit of the quota stays for the Job without nodes, which is started again after the change.
    nodes = min(NODES, max(1, gang.pods - 1)) if number == 1 and pool.admits_workloads else 0
    for index in range(nodes):
        request = Request(gang.pod, 1, pool.name)
        name = f"fill-{part.name}-{pool.name}-node-{index + 1}"
        yield _job(cluster, queue, Work(name, part, request, keeps_running=True), pool, index)
    if gang.pods > nodes:
        request = Request(gang.pod, gang.pods - nodes, pool.name)
        name = f"fill-{part.name}-{pool.name}-rest-{number}"
        yield _job(cluster, queue, Work(name, part, request, without_pods=True), pool, None)


def _job(cluster: Cluster, queue: Queue, work: Work, pool: Pool, index: int | None) -> Filling:
    document = job_of(cluster, work)
    metadata = document["metadata"]
    metadata["name"] = work.name
    if index is not None:
        document["spec"]["template"]["spec"]["nodeSelector"] |= _selector(pool, index)
    tenant = next(tenant.name for tenant, namespace in cluster.namespaces if namespace.name == metadata["namespace"])
    return Filling(document, tenant, queue.name, pool.name, 0 if index is None else work.request.pods)


def _selector(pool: Pool, index: int) -> dict[str, str]:
    """Returns a node selector that makes the nodes of a pool different. Static pools have nodes of one form already."""
    if pool.always_running:
        return {}
    values = ((ZONE, pool.zones), (CAPACITY_TYPE, pool.spec.purchase))
    types = tuple(instance.type for instance in pool.instances)
    return {
        key: str(choices[index % len(choices)])
        for key, choices in (*values, (INSTANCE_TYPE, types))
        if len(choices) > 1
    }


def _of_namespaces(cluster: Cluster) -> Iterator[Filling]:
    """Yields for each quota of a namespace Deployments with one node, and a Deployment that uses the rest."""
    for tenant, namespace in cluster.namespaces:
        for quota in namespace.quotas:
            for number, resource in enumerate(quota.pool.gpu_resource_names, 1):
                yield from _of_resource(cluster, tenant, namespace, quota, (number, resource))


def _of_resource(
    cluster: Cluster, tenant: Tenant, namespace: Namespace, quota: NamespaceQuota, numbered: tuple[int, str]
) -> Iterator[Filling]:
    number, resource = numbered
    pool, factory = quota.pool, WorkloadFactory(cluster, tenant, namespace)
    amount = max_per_pod(pool, resource)
    pods = quota.amounts.get(resource, 0) // amount
    nodes = min(NODES, pods) if number == 1 else 0
    for index in range(nodes):
        pod = factory.pod(f"fill-{pool.name}-node-{index + 1}", pool, {resource: amount})
        pod["spec"]["nodeSelector"] |= _selector(pool, index)
        yield Filling(_deployment(factory, pod, 1), tenant.name, "", pool.name, 1)
    if pods > nodes:
        pod = factory.pod(f"fill-{pool.name}-rest-{number}", pool, {resource: amount})
        pod["spec"]["schedulerName"] = NO_SCHEDULER
        yield Filling(_deployment(factory, pod, min(REST_PODS, pods - nodes)), tenant.name, "", pool.name)


def _deployment(factory: WorkloadFactory, pod: Object, replicas: int) -> Object:
    document = replicated(factory, "Deployment", pod, replicas)
    name = pod["metadata"]["name"].removeprefix("rehearsal-")
    document["metadata"]["name"] = name
    return document
