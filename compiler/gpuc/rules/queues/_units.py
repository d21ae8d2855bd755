"""Quotas in the units of the spec: nodes, GPUs, MIG slices and GPU shares."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU
from gpuc.model import Cluster, Pool, PoolQuota, Queue
from gpuc.model.names import GPU, mig_resource
from gpuc.spec.queues import Quota


def counted_resources(pool: Pool) -> tuple[str, ...]:
    """Returns the resources whose quota the spec sets. gpuc computes the quotas of all other resources."""
    return pool.gpu_resource_names or (CPU,)


def quotas(cluster: Cluster, pool: Pool) -> Iterator[tuple[Queue, PoolQuota, Quota]]:
    """Yields the queue, the resolved quota and the spec of every quota for the pool, in the order of the queues."""
    for queue in cluster.queues:
        for pool_quota in queue.pool_quotas:
            if pool_quota.pool is pool:
                yield queue, pool_quota, queue.spec.quota[pool.name]


def quota_path(pool_quota: PoolQuota, quota: Quota, resource: str) -> Path:
    """Returns the path of the number in the spec that sets the quota of the resource."""
    if quota.nodes is not None:
        return (*pool_quota.path, "nodes")
    if quota.shares is not None:
        return (*pool_quota.path, "shares")
    for profile in quota.slices or {}:
        if resource in (mig_resource(profile), GPU) and (quota.gpus is None or resource != GPU):
            return (*pool_quota.path, "slices", profile)
    return (*pool_quota.path, "gpus")


def unit_of(pool: Pool, resource: str, *, in_nodes: bool = False) -> str:
    """Returns the unit in which messages count the resource, for example "GPUs"."""
    if in_nodes:
        return "nodes"
    if pool.sharing is None or pool.sharing.mode == "exclusive":
        return "GPUs"
    if pool.sharing.mode == "shared":
        return "GPU shares"
    profile = next((name for name in pool.sharing.slices() if mig_resource(name) == resource), "")
    return f"{profile} slices" if profile else ("slices" if pool.sharing.strategy == "single" else "whole GPUs")


def amount_in_unit(pool: Pool, resource: str, amount: int, *, in_nodes: bool = False) -> int:
    """Returns the number of nodes that have the amount if `in_nodes` is set; otherwise returns the amount."""
    return amount // pool.node[resource] if in_nodes else amount
