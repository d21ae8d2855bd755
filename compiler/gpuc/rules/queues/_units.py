"""Quotas in the units of the spec: nodes, GPUs, MIG slices and GPU shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.diagnostics.finding import Path, Related
from gpuc.kubernetes.amounts import CPU, Amounts
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPU, mig_resource
from gpuc.spec.queues import PoolAmount

UNITS = ("nodes", "shares", "slices", "gpus")
"""The fields of a quota that set its amount."""


class CountedQuota(NamedTuple):
    """The quota of a queue or namespace on a pool."""

    owner: str
    """The name of the queue or namespace."""
    path: Path
    spec: PoolAmount
    amounts: Amounts


def counted_resources(pool: Pool) -> tuple[str, ...]:
    """Returns the resources whose quota the spec sets. gpuc computes the quotas of all other resources."""
    return pool.gpu_resource_names or (CPU,)


def quotas(cluster: Cluster, pool: Pool) -> Iterator[CountedQuota]:
    """Yields every quota that counts the pool, in the order of the spec: of queues, or else of namespaces.

    A quota of the other kind has a finding of its own, and is left out here.
    """
    if pool.counted == "kueue":
        for queue in cluster.queues:
            for pool_quota in queue.pool_quotas:
                if pool_quota.pool is pool:
                    yield CountedQuota(queue.name, pool_quota.path, pool_quota.spec, pool_quota.nominal)
        return
    for _, namespace in cluster.namespaces:
        for quota in namespace.quotas:
            if quota.pool is pool:
                yield CountedQuota(namespace.name, quota.path, quota.spec, quota.amounts)


def amount_path(path: Path, amount: PoolAmount) -> Path:
    """Returns the path of the first field that sets the amount of a quota."""
    return (*path, next(unit for unit in UNITS if getattr(amount, unit) is not None))


def quota_path(path: Path, amount: PoolAmount, resource: str) -> Path:
    """Returns the path of the number in the spec that sets the quota of the resource.

    Args:
        path: the path of the quota.
    """
    if amount.nodes is not None or amount.shares is not None:
        return amount_path(path, amount)
    for profile in amount.slices or {}:
        if resource in (mig_resource(profile), GPU) and (amount.gpus is None or resource != GPU):
            return (*path, "slices", profile)
    return (*path, "gpus")


def owner_kind(pool: Pool) -> str:
    """Returns the kind of the owners of the quotas that count a pool: "queue" or "namespace"."""
    return "queue" if pool.counted == "kueue" else "namespace"


def counted_by(pool: Pool) -> list[Related]:
    """Returns the place at which the spec chooses the kind of quota of a pool; an empty list for the default."""
    if "counted" not in pool.spec.model_fields_set:
        return []
    return [Related(f"counted of node pool {pool.name} is {pool.counted}", (*pool.path, "counted"))]
