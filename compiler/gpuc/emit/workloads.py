"""Workload templates for each pool: a Job or a Deployment that a quota counts and that passes all policies."""

from collections.abc import Iterator

from gpuc.emit.job_template import job_template
from gpuc.emit.serving_template import serving_template
from gpuc.emit.workload_template import Place, Template
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, round_down, scale
from gpuc.kubernetes.kueue import BATCH_JOB, DEPLOYMENT
from gpuc.manifest.manifest import Artifact
from gpuc.model import Cluster, Namespace, Pool, Queue, Tenant
from gpuc.model.names import EFA, GPU, HUGEPAGES
from gpuc.parts.workload_kinds import family_modules

GANG_NODES = 2
"""Number of nodes of a training template: the smallest run that uses the network between nodes."""
REQUEST_PERCENT = 95
"""Percentage of the available CPU and memory that a template requests. The rest is for future node agents:
with 100, the pod would no longer fit after a user adds a DaemonSet."""


def workloads(cluster: Cluster) -> Iterator[Artifact]:
    """Yields workload templates: objects that users copy to run workloads on a pool. Argo CD does not sync them.

    A pool gets templates if a namespace has quota for the pool. The template is a Deployment in two cases: namespaces
    have ResourceQuotas for the pool (`counted: quota`), or the pool is for inference and Kueue manages Deployments. In
    all other cases, the template is a Job. A pool with EFA also gets a template of each kind whose pods start together,
    for example a JobSet, if the cluster has the controller of the kind.

    In a cluster without tenants, the templates are for the namespace default: a Deployment for inference, else a Job.
    """
    gangs = list(family_modules("gang"))
    for pool in cluster.pools:
        if pool.spec.leaving:
            continue
        is_serving = _is_serving(cluster, pool)
        for suffix, available in _portions(pool).items():
            is_part = pool.sharing is not None and pool.sharing.mode != "exclusive" and available.get(GPU) is None
            resources = node_requests(cluster, available, full_cores=not is_part)
            if is_serving:
                resources = {name: count for name, count in resources.items() if name not in (EFA, HUGEPAGES)}
            name = f"{pool.name}-{suffix}" if suffix else pool.name
            if not cluster.tenants:
                pods = min(GANG_NODES, pool.nodes_max) if pool.has_efa and not is_serving else 1
                template: Template | None = Template(cluster, name, pool, Place(), resources, pods=pods)
            elif pool.counted == "quota":
                template = _quota_template(cluster, pool, name, resources)
            else:
                template = _queue_template(cluster, pool, name, resources, is_serving=is_serving)
            if template:
                yield from (serving_template if is_serving else job_template)(template)
                for module in gangs if template.is_gang and template.queue else ():
                    yield from module.gang(template)
    for module in family_modules("runtimes") if any(tenant.runs for tenant in cluster.tenants) else ():
        yield from module.templates(cluster)


def _is_serving(cluster: Cluster, pool: Pool) -> bool:
    """Returns whether the templates of the pool are Deployments.

    The policy queue-required demands a queue from Jobs, so a pool that ResourceQuotas count has no Jobs.
    """
    if not cluster.tenants:
        return pool.spec.purpose == "inference"
    is_queued_server = pool.spec.purpose == "inference" and DEPLOYMENT in cluster.frameworks
    return pool.counted == "quota" or is_queued_server


def _quota_template(cluster: Cluster, pool: Pool, name: str, resources: Amounts) -> Template | None:
    """Returns a template for the first namespace whose ResourceQuota has these resources of the pool."""
    for tenant, namespace in cluster.namespaces:
        for quota in namespace.quotas:
            is_leaving = tenant.spec.leaving or namespace.spec.leaving
            if quota.pool is pool and not is_leaving and _covers(quota.amounts, resources):
                return Template(cluster, name, pool, Place.of(cluster, tenant, namespace), resources)
    return None


def _queue_template(
    cluster: Cluster, pool: Pool, name: str, resources: Amounts, *, is_serving: bool
) -> Template | None:
    """Returns a template for the first queue that admits these resources to the pool.

    None if Kueue does not manage the kind: without a queue, the objects would bypass all quotas.
    """
    if (DEPLOYMENT if is_serving else BATCH_JOB) not in cluster.frameworks:
        return None
    for queue in cluster.queues_of(pool):
        cluster_queue = next(candidate for candidate in queue.cluster_queues if pool in candidate.pools)
        most = {name: cluster.quota_nodes[cluster_queue.name].capacity((pool.name, name)) for name in resources}
        if not queue.spec.leaving and _covers(most, resources):
            namespaces = _admitting_namespaces(cluster, queue)
            if namespaces:
                tenant, namespace = _best_namespace(namespaces, pool)
                pods = _gang_nodes(queue, pool) if pool.has_efa and not is_serving else 1
                return Template(
                    cluster, name, pool, Place.of(cluster, tenant, namespace), resources, cluster_queue.name, pods
                )
    return None


def _covers(quota: Amounts, requests: Amounts) -> bool:
    return all(quota.get(name, 0) >= amount for name, amount in requests.items())


def _admitting_namespaces(cluster: Cluster, queue: Queue) -> list[tuple[Tenant, Namespace]]:
    """Returns the namespaces from which a queue admits new workloads, in the order of the tenants of the queue."""
    tenants = [tenant for name in queue.tenant_names for tenant in cluster.tenants if tenant.name == name]
    return [
        (tenant, namespace)
        for tenant in tenants
        for namespace in tenant.namespaces
        if queue in namespace.queues and not tenant.spec.leaving and not namespace.spec.leaving
    ]


def _best_namespace(namespaces: list[tuple[Tenant, Namespace]], pool: Pool) -> tuple[Tenant, Namespace]:
    """Returns the best namespace for a pool: for EFA, one with an NCCL profile, and with IPC_LOCK if pods need it."""

    def mismatches(candidate: tuple[Tenant, Namespace]) -> tuple[bool, bool]:
        _, namespace = candidate
        privileged = namespace.spec.pod_security == "privileged"
        return privileged != pool.needs_ipc_lock, (namespace.nccl is not None) != pool.has_efa

    return min(namespaces, key=mismatches)


def _gang_nodes(queue: Queue, pool: Pool) -> int:
    """Returns the number of nodes of a gang: two, or one if the nominal quota is too low for two nodes."""
    nominal_gpus = next(pool_quota.nominal.get(GPU, 0) for pool_quota in queue.pool_quotas if pool_quota.pool is pool)
    return max(1, min(GANG_NODES, nominal_gpus // max(1, pool.node.get(GPU, 1))))


def _portions(pool: Pool) -> dict[str, Amounts]:
    """Returns the resources of a pod by the suffix of the template: a complete node, a GPU share or a MIG slice."""
    sharing = pool.sharing
    if sharing is None or sharing.mode == "shared":
        return {"": next(iter(pool.portions.values()))}
    if sharing.mode == "exclusive":
        return {"": dict(pool.node)}
    slices = {
        profile.replace(".", "-").replace("+", "-"): pool.portions[sharing.resource(profile)]
        for profile in sharing.slices()
    }
    return slices | ({"whole": pool.portions[GPU]} if sharing.whole_gpus else {})


def node_requests(cluster: Cluster, available: Amounts, *, full_cores: bool) -> Amounts:
    """Returns the requests of a pod that is alone on a node, slice or share with the resources in `available`.

    The requests are 95% of cpu and memory, half of the disk, and the huge pages that EFA needs. cpu and memory are
    rounded down to complete cores and GiB. Without `full_cores`, for a slice or share, cpu is rounded down to 100m.
    """
    requests = available | scale({name: available[name] for name in (CPU, MEMORY)}, REQUEST_PERCENT, 100)
    unit = 1000 if full_cores else 100
    requests[CPU] = requests[CPU] // unit * unit or requests[CPU]
    requests[MEMORY] = requests[MEMORY] // GIB * GIB or requests[MEMORY]
    # The other half of the disk is for images and logs.
    requests |= round_down(scale({EPHEMERAL_STORAGE: available[EPHEMERAL_STORAGE]}, 1, 2))
    if HUGEPAGES in requests:
        requests[HUGEPAGES] = min(requests[HUGEPAGES], cluster.catalog.nccl.pod.hugepages_mib * MIB)
    return requests
