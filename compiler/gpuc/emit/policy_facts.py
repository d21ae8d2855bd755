"""Values of a cluster that admission policies use as parameters. A policy names a value in the field `from`."""

from collections.abc import Callable
from typing import Any

from gpuc.emit.component import needed_components
from gpuc.emit.exposure import (
    FIELDS,
    annotation_grants,
    annotation_values,
    granted_annotations,
    grants,
    known_annotations,
)
from gpuc.emit.network import egress_blocks, egress_cidrs
from gpuc.emit.network_exceptions import ingress_blocks
from gpuc.kubernetes.controllers import JOB_CONTROLLER, user
from gpuc.model import Cluster, Pool, Tenant
from gpuc.model.names import SHARED_GPU
from gpuc.parts.workload_kinds import installed_controllers, spec_frameworks

KUEUE_ACCOUNT = "kueue-controller-manager"
"""The ServiceAccount of Kueue. The release has the name of the chart, kueue.

Source: kubernetes-sigs/kueue v0.19.2 charts/kueue/templates/rbac/service_account.yaml, _helpers.tpl
"""

MIN_GRACE_LIMIT_SECONDS = 600
"""The limit for termination grace periods of tenants whose runs save no checkpoints."""


def controllers(cluster: Cluster) -> list[str]:
    """Returns the names of the users as which controllers create the pods and jobs of workloads in Kueue."""
    installed = installed_controllers()
    own = {name: controller.account for name, controller in installed.items()} | cluster.controller_accounts
    created = {name: controller.creates for name, controller in installed.items()}
    accounts = [own.get(name, "") for chosen in cluster.frameworks for name in (chosen, *created.get(chosen, ()))]
    return [user(account) for account in dict.fromkeys([JOB_CONTROLLER, *filter(None, accounts)])]


def kueue_user(cluster: Cluster) -> str:
    """Returns the name of the user with which Kueue's controller removes the scheduling gate from admitted pods."""
    return user(f"{cluster.components['kueue'].namespace}/{KUEUE_ACCOUNT}")


def _resources(_: Cluster, tenant: Tenant) -> list[str]:
    return sorted({name for pool in tenant.pools for name in _devices(pool)})


def _limits(cluster: Cluster, tenant: Tenant) -> list[dict[str, Any]]:
    """Returns the maximum request of a pod per resource, and the smaller maximum of each pool with smaller nodes."""
    limits: list[dict[str, Any]] = []
    for resource in _resources(cluster, tenant):
        maxima = {pool.name: _most(pool, resource) for pool in tenant.pools if resource in _devices(pool)}
        most = max(maxima.values())
        limits.append({"resource": resource, "pool": "", "most": most})
        limits += [
            {"resource": resource, "pool": pool, "most": count} for pool, count in maxima.items() if count < most
        ]
    return limits


def _choices(_: Cluster, tenant: Tenant) -> list[dict[str, Any]]:
    """Returns the GPU resources that several pools of one ClusterQueue advertise, and the pools of each resource."""
    cluster_queues = [cluster_queue for queue in tenant.queues for cluster_queue in queue.cluster_queues]
    names = sorted({name for pool in tenant.pools for name in pool.gpu_resource_names})
    return [
        {"resource": name, "pools": [pool.name for pool in tenant.pools if name in pool.gpu_resource_names]}
        for name in names
        if any(sum(name in pool.gpu_resource_names for pool in queue.pools) > 1 for queue in cluster_queues)
    ]


def _namespace_pools(_: Cluster, tenant: Tenant) -> list[dict[str, Any]]:
    """Returns the GPU pools on which a namespace has a ResourceQuota, with their GPU resources."""
    return [
        {"namespace": namespace.name, "pool": quota.pool.name, "resources": list(quota.pool.gpu_resource_names)}
        for namespace in tenant.namespaces
        for quota in namespace.quotas
        if quota.pool.is_gpu
    ]


def _namespace_parts(_: Cluster, tenant: Tenant) -> list[dict[str, str]]:
    """Returns the pools without GPUs on which a namespace has a quota, and the PriorityClass of pods on each pool."""
    return [
        {"namespace": namespace.name, "pool": quota.pool.name, "priorityClass": quota.pool.priority_class}
        for namespace in tenant.namespaces
        for quota in namespace.quotas
        if quota.pool.priority_class
    ]


def _grace_seconds(_: Cluster, tenant: Tenant) -> int:
    """Returns the longest grace period of a pod with GPUs: one checkpoint interval, at least ten minutes."""
    intervals = [pool.spec.runs.checkpoint_every or 0 for pool in tenant.pools if pool.spec.runs]
    return max([MIN_GRACE_LIMIT_SECONDS, *intervals])


def _taints(_: Cluster, tenant: Tenant) -> list[dict[str, str]]:
    taints = dict.fromkeys((taint.key, taint.value) for pool in tenant.pools for taint in pool.taints)
    return [{"key": key, "value": value} for key, value in taints]


def _profiles(_: Cluster, tenant: Tenant) -> list[dict[str, str]]:
    return [
        {"namespace": namespace.name, "configMap": namespace.nccl.config_map}
        for namespace in tenant.namespaces
        if namespace.nccl
    ]


def _ingress_namespaces(cluster: Cluster, tenant: Tenant) -> list[str]:
    names = [*tenant.caller_namespaces]
    if cluster.spec.observability is not None:
        names.append(cluster.spec.observability.namespace)
    names += [component.release(cluster).namespace for component in needed_components(cluster) if component.calls]
    return list(dict.fromkeys(names))


def _queues(tenant: Tenant, *, gpu: bool) -> list[str]:
    return [
        cluster_queue.name
        for queue in tenant.queues
        for cluster_queue in queue.cluster_queues
        if any(pool.is_gpu for pool in cluster_queue.pools) == gpu
    ]


def _devices(pool: Pool) -> list[str]:
    """Returns the extended resources of the nodes of a pool. Huge pages are not an extended resource."""
    return [name for name in pool.advertised_names if "/" in name]


def _most(pool: Pool, resource: str) -> int:
    if resource == SHARED_GPU:
        return 1  # the device plugin rejects requests for more than one share
    return max(pool.advertised(instance)[resource] for instance in pool.instances)


FACTS: dict[str, Callable[[Cluster, Tenant], Any]] = {
    "cluster.priorities": lambda cluster, _: list(cluster.spec.priorities),
    "cluster.reserved_priorities": lambda cluster, _: [
        {"name": name, "namespaces": [row.name for owner, row in cluster.namespaces if owner.name in priority.tenants]}
        for name, priority in cluster.spec.priorities.items()
        if priority.tenants is not None
    ],
    "tenant.priorities": lambda cluster, tenant: cluster.priorities_of(tenant.name),
    "tenant.name": lambda _, tenant: tenant.name,
    "tenant.cost_centre": lambda _, tenant: tenant.spec.cost_centre,
    "tenant.local_queues": lambda _, tenant: list(
        dict.fromkeys(name for namespace in tenant.namespaces for name in namespace.local_queues)
    ),
    "tenant.namespace_queues": lambda _, tenant: [
        {"namespace": namespace.name, "queues": list(namespace.local_queues)} for namespace in tenant.namespaces
    ],
    "tenant.namespace_pools": _namespace_pools,
    "tenant.namespace_parts": _namespace_parts,
    # The pools with MPS, with the user ID that all MPS clients of a GPU must have.
    "tenant.mps_pools": lambda _, tenant: [
        {"pool": pool.name, "user": pool.mps_user} for pool in tenant.pools if pool.mps_user is not None
    ],
    "tenant.grace_seconds": _grace_seconds,
    "cluster.controllers": lambda cluster, _: controllers(cluster),
    "cluster.kueue": lambda cluster, _: kueue_user(cluster),
    "cluster.queued_kinds": lambda cluster, _: [spec_frameworks()[name].kind for name in cluster.frameworks],
    "tenant.gpu_queues": lambda _, tenant: _queues(tenant, gpu=True),
    "tenant.cpu_queues": lambda _, tenant: _queues(tenant, gpu=False),
    "tenant.resources": _resources,
    "tenant.limits": _limits,
    "tenant.choices": _choices,
    "tenant.pools": lambda _, tenant: [pool.name for pool in tenant.pools],
    "tenant.taints": _taints,
    "tenant.nccl_profiles": _profiles,
    "cluster.known_annotations": lambda cluster, _: known_annotations(cluster),
    "cluster.annotation_values": lambda cluster, _: annotation_values(cluster),
    "cluster.granted": lambda cluster, _: annotation_grants(cluster),
    "cluster.granted_annotations": lambda cluster, _: [
        row for _, space in cluster.namespaces for row in granted_annotations(space)
    ],
    "tenant.granted": lambda _, tenant: [row for space in tenant.namespaces for row in grants(space, FIELDS)],
    "tenant.ingress_namespaces": _ingress_namespaces,
    "tenant.egress_namespaces": lambda _, __: ["kube-system"],
    "tenant.egress_cidrs": egress_cidrs,
    "tenant.egress_blocks": egress_blocks,
    "tenant.ingress_blocks": ingress_blocks,
}
"""Functions that return the value of a fact for a tenant, by the name of the fact."""
