"""The work that runs before a change: either Jobs and Deployments that fill all quotas, or the objects of users."""

from collections.abc import Iterable, Iterator
from copy import deepcopy

from msgspec import Struct
from msgspec.structs import replace

from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, items, pairs
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.client import ApiError, Client, Object
from gpuc_rehearsal.context import HOLD
from gpuc_rehearsal.expectation import cluster_queues, owner
from gpuc_rehearsal.sample_workloads import WorkloadFactory, factories, max_per_pod
from gpuc_rehearsal.suites.gangs import gangs
from gpuc_rehearsal.suites.jobs import Work, job_of
from gpuc_rehearsal.suites.serving import replicated

NODES = 2
"""Maximum number of nodes for each pair of a queue, or a namespace with a quota, and a pool.

Two nodes are enough for two zones, two capacity types and two instance types.
"""
REST_PODS = 128
"""Maximum number of pods that use the rest of a ResourceQuota. A larger rest stays unused."""
NO_SCHEDULER = "gpuc-rehearsal-no-scheduler"
OBSERVED_KINDS = ("Job", "Deployment", "StatefulSet")
"""The kinds whose controllers run, so that their objects get pods."""
_GENERATED = (
    "uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "generation", "ownerReferences",
)  # fmt: skip
"""Metadata that the API server sets. It refuses most of it in a new object."""
_JOB_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
"""Labels that the API server adds to the pods of a Job.

Source: k8s.io/kubernetes v1.35.4 pkg/registry/batch/job/strategy.go (generateSelector)
"""


class Filling(Struct, frozen=True, eq=False):
    """A workload that runs, or only uses quota, before the change, with its tenant, queue and node pool."""

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

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def fillings(cluster: Cluster, *, keeps_all: bool = False) -> list[Filling]:
    """Returns workloads that use all quotas of a cluster.

    keeps_all: whether each pod has the annotation against disruption, so that the autoscaler replaces no drifted node.
    """
    found, autoscaler = [*_of_queues(cluster), *_of_namespaces(cluster)], autoscaler_of(cluster)
    kept = {pool.name for pool in cluster.pools if keeps_all or pool.keeps_runs}
    for filling in found:
        if autoscaler and filling.pods and filling.pool in kept:
            metadata = filling.document["spec"]["template"].setdefault("metadata", {})
            metadata["annotations"] = {**metadata.get("annotations", {}), **autoscaler.keep}
    return found


def _of_queues(cluster: Cluster) -> Iterator[Filling]:
    """Yields for each queue, pool and GPU resource Jobs with one node, and a Job that uses the rest of the quota."""
    for queue in cluster_queues(cluster):
        for pool_quota in queue.pool_quotas:
            pool = pool_quota.pool
            for number, gang in enumerate(gangs(pool_quota).values(), 1):
                # One unit of the quota stays for the Job without nodes, which is started again after the change.
                nodes = min(NODES, max(1, gang.pods - 1)) if number == 1 and pool.admits_workloads else 0
                name = f"fill-{queue.name}-{pool.name}"
                for index in range(nodes):
                    work = Work(f"{name}-node-{index + 1}", queue, replace(gang, pods=1), keeps_running=True)
                    yield _job(cluster, work, _selector(pool, index))
                if gang.pods > nodes:
                    rest = replace(gang, pods=gang.pods - nodes)
                    yield _job(cluster, Work(f"{name}-rest-{number}", queue, rest, without_pods=True), {})


def _job(cluster: Cluster, work: Work, selector: dict[str, str]) -> Filling:
    document = job_of(cluster, work)
    metadata = document["metadata"]
    metadata["name"] = work.name
    document["spec"]["template"]["spec"]["nodeSelector"] |= selector
    tenant = next(tenant.name for tenant, namespace in cluster.namespaces if namespace.name == metadata["namespace"])
    pods = 0 if work.without_pods else work.request.pods
    return Filling(document, tenant, owner(cluster, work.queue).name, work.request.pool, pods)


def _selector(pool: Pool, index: int) -> dict[str, str]:
    """Returns a node selector with which the nodes of a pool differ in zone, type or capacity type.

    Nodes of a static pool are all equal.
    """
    if pool.always_running:
        return {}
    values = pool.scaling.choices if pool.scaling else {}
    choices = {**values, INSTANCE_TYPE: tuple(instance.type for instance in pool.instances)}
    return {key: str(found[index % len(found)]) for key, found in choices.items() if len(found) > 1}


def _of_namespaces(cluster: Cluster) -> Iterator[Filling]:
    """Yields for each quota of a namespace Deployments with one node, and a Deployment that uses the rest."""
    for factory in factories(cluster):
        for quota in factory.namespace.quotas:
            pool = quota.pool
            for number, resource in enumerate(pool.gpu_resource_names, 1):
                amount = max_per_pod(pool, resource)
                pods = quota.amounts.get(resource, 0) // amount
                nodes = min(NODES, pods) if number == 1 else 0
                for index in range(nodes):
                    pod = factory.pod(f"fill-{pool.name}-node-{index + 1}", pool, {resource: amount})
                    pod["spec"]["nodeSelector"] |= _selector(pool, index)
                    yield _deployment(factory, pod, pool, 1, 1)
                if pods > nodes:
                    pod = factory.pod(f"fill-{pool.name}-rest-{number}", pool, {resource: amount})
                    pod["spec"]["schedulerName"] = NO_SCHEDULER
                    yield _deployment(factory, pod, pool, min(REST_PODS, pods - nodes), 0)


def _deployment(factory: WorkloadFactory, pod: Object, pool: Pool, replicas: int, on_nodes: int) -> Filling:
    document = replicated(factory, "Deployment", pod, replicas)
    document["metadata"]["name"] = pod["metadata"]["name"].removeprefix("rehearsal-")
    return Filling(document, factory.tenant.name, "", pool.name, on_nodes)


def user_work(documents: Iterable[Object], cluster: Cluster) -> tuple[list[Filling], list[Object]]:
    """Returns the objects from --workloads in two lists: the workloads that get pods, and all other objects.

    The other objects are created first. They include invalid workloads, which the API server refuses with a reason.
    Objects that a controller created, such as ReplicaSets, are left out.
    """
    queues = {part.name: queue.name for queue in cluster.queues for part in queue.cluster_queues}
    tenants = {namespace.name: tenant.name for tenant, namespace in cluster.namespaces}
    work, others = [], []
    for given in documents:
        if any(dig(reference, "controller") for _, reference in items(given["metadata"].get("ownerReferences"))):
            continue
        document = as_written(given)
        pods = _pods_of(document)
        if pods is None:
            others.append(document)
        else:
            tenant = tenants.get(str(document["metadata"]["namespace"]), "")
            queue = queues.get(str(dig(document, "metadata", "labels", QUEUE_LABEL)), "")
            pool = dig(document, "spec", "template", "spec", "nodeSelector", POOL_LABEL)
            work.append(Filling(document, tenant, queue, str(pool or ""), pods))
    return work, others


def as_written(given: Object) -> Object:
    """Returns an object as a user would write it, without fields that the API server sets. Pods of Jobs never end."""
    document = without_generated(given)
    if document["kind"] in OBSERVED_KINDS:
        document["metadata"].setdefault("namespace", "default")
    template = dig(document, "spec", "template")
    if document["kind"] == "Job" and isinstance(template, dict):
        if not document["spec"].get("manualSelector"):
            document["spec"].pop("selector", None)
        metadata = {key: value for key, value in pairs(template.get("metadata")) if key != "creationTimestamp"}
        labels = {key: value for key, value in pairs(metadata.get("labels")) if key not in _JOB_LABELS}
        annotations = dict(pairs(metadata.get("annotations"))) | HOLD
        template["metadata"] = metadata | {"labels": labels, "annotations": annotations}
    return document


def without_generated(given: Object) -> Object:
    """Returns a copy of an object without its status and without the metadata that the API server sets."""
    document = deepcopy({key: value for key, value in given.items() if key != "status"})
    document["metadata"] = {key: value for key, value in document["metadata"].items() if key not in _GENERATED}
    return document


def create(client: Client, document: Object) -> str:
    """Creates an object. Returns the reason if the API server refuses it; "" if it is created or exists already."""
    try:
        client.create(document)
    except ApiError as error:
        return "" if error.reason == "AlreadyExists" else str(error)
    return ""


def _pods_of(document: Object) -> int | None:
    """Returns the number of pods that the controller of an object starts at the same time.

    The result is None for an object without a controller that runs, and for a number that is not valid.
    """
    spec = document.get("spec")
    if document["kind"] not in OBSERVED_KINDS or not isinstance(spec, dict):
        return None
    numbers = [spec.get("replicas", 1)]
    if document["kind"] == "Job":
        parallelism = spec.get("parallelism", 1)
        numbers = [parallelism, spec.get("completions") or parallelism]
    return min(numbers) if all(isinstance(number, int) for number in numbers) else None
