"""Quotas in the units of the spec: resources, units and paths."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU
from gpuc.model import Cluster, Pool, PoolQuota, Queue
from gpuc.model.names import GPU, mig_resource
from gpuc.spec.queues import Quota


def counted(pool: Pool) -> tuple[str, ...]:
    """Returns the resources in which quotas of the pool are counted. The other resources are proportional to them."""
    return pool.gpu_resource_names or (CPU,)


def quotas(cluster: Cluster, pool: Pool) -> Iterator[tuple[Queue, PoolQuota, Quota]]:
    """Yields the queue, the PoolQuota and the spec of every quota of the pool, in the order of the queues."""
    for queue in cluster.queues:
        for pool_quota in queue.pool_quotas:
            if pool_quota.pool is pool:
                yield queue, pool_quota, queue.spec.quota[pool.name]


def leaf(pool_quota: PoolQuota, quota: Quota, resource: str) -> Path:
    """Returns the path of the number that determines the quota of the resource."""
    if quota.nodes is not None:
        return (*pool_quota.path, "nodes")
    if quota.shares is not None:
        return (*pool_quota.path, "shares")
    for profile in quota.slices or {}:
        if resource in (mig_resource(profile), GPU) and (quota.gpus is None or resource != GPU):
            return (*pool_quota.path, "slices", profile)
    return (*pool_quota.path, "gpus")


def unit(pool: Pool, resource: str, *, in_nodes: bool = False) -> str:
    """Returns the unit of the resource for messages."""
    if in_nodes:
        return "nodes"
    if pool.sharing is None or pool.sharing.mode == "exclusive":
        return "GPUs"
    if pool.sharing.mode == "shared":
        return "shares"
    profile = next((name for name in pool.sharing.slices() if mig_resource(name) == resource), "")
    return f"{profile} slices" if profile else ("slices" if pool.sharing.strategy == "single" else "whole GPUs")


def pieces(pool: Pool, resource: str, amount: int, *, in_nodes: bool = False) -> int:
    """Converts the amount of a counted resource to nodes if `in_nodes` is set; otherwise returns the amount."""
    return amount // pool.node[resource] if in_nodes else amount
