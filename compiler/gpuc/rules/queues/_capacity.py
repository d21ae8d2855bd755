"""Quotas that exceed the capacity of their node pool: for certain, or depending on the instance types that start."""

from __future__ import annotations

from typing import NamedTuple

from gpuc.catalog.records import InstanceType
from gpuc.diagnostics.finding import Path, Related
from gpuc.model import Cluster, Pool
from gpuc.model.units import quota_unit, with_unit
from gpuc.rules import Findings
from gpuc.rules.queues._units import CountedQuota, counted_resources, owner_kind, quota_path, quotas


class _Capacity(NamedTuple):
    """The amount of a resource on the maximum number of nodes, if all nodes have the same instance type."""

    amount: int
    instance: InstanceType


def exceeding_quotas(cluster: Cluster, *, is_possible: bool) -> Findings:
    """Yields findings for quotas that exceed the capacity of their pool.

    Args:
        is_possible: whether to yield quotas that nodes of the largest instance type can serve, but nodes of the
            smallest cannot; otherwise only quotas that no nodes of the pool can serve.
    """
    for pool in cluster.pools:
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.spec.nodes is not None for quota in pool_quotas)
        reported: set[Path] = set()
        for resource in counted_resources(pool):
            smallest, largest = _capacities(pool, resource, in_nodes=in_nodes)
            limit = smallest if is_possible else largest
            total = sum(quota.amounts[resource] for quota in pool_quotas)
            if limit.amount < total and (not is_possible or total <= largest.amount):
                path = _first_path_beyond(limit.amount, pool_quotas, resource)
                if path not in reported:
                    reported.add(path)
                    message = _message(pool, resource, pool_quotas, (limit, largest), in_nodes=in_nodes)
                    yield path, message, "", _related(pool, resource, path, pool_quotas, in_nodes=in_nodes)


def _capacities(pool: Pool, resource: str, *, in_nodes: bool) -> tuple[_Capacity, _Capacity]:
    """Returns the capacity that is certain, and the capacity with the largest nodes.

    A quota in nodes is a multiple of the smallest node; more nodes than the maximum cannot exist.
    """
    by_type = [(pool.tenant_allocatable(instance)[resource], instance) for instance in pool.instances]
    smallest = min(by_type, key=lambda row: row[0])[1]
    largest, instance = max(by_type, key=lambda row: row[0])
    certain = _Capacity(pool.capacity[resource], smallest)
    return certain, certain if in_nodes else _Capacity(largest * pool.nodes_max, instance)


def _first_path_beyond(limit: int, pool_quotas: list[CountedQuota], resource: str) -> Path:
    """Returns the path of the first quota with which the sum exceeds the limit."""
    subtotal = 0
    for quota in pool_quotas:
        subtotal += quota.amounts[resource]
        if subtotal > limit:
            return quota_path(quota.path, quota.spec, resource)
    raise ValueError("the sum of the quotas does not exceed the limit")


def _related(
    pool: Pool, resource: str, path: Path, pool_quotas: list[CountedQuota], *, in_nodes: bool
) -> list[Related]:
    """Returns the places of the other quotas that count, and of the maximum number of nodes."""
    kind, unit = owner_kind(pool), quota_unit(pool, resource, in_nodes=in_nodes)
    related = []
    for quota in pool_quotas:
        where = quota_path(quota.path, quota.spec, resource)
        if quota.amounts[resource] and where != path:
            count = unit.count(quota.amounts[resource])
            related.append(Related(f"quota of {kind} {quota.owner}: {unit.text(count)}", where))
    nodes = (*pool.path, "nodes", "static" if pool.is_static else "max")
    most = f"node pool {pool.name} has at most {with_unit(pool.nodes_max, 'nodes')}"
    if not in_nodes and len(pool.instances) == 1:
        most += f" with {unit.text(pool.node[resource])} each"
    return [*related, Related(most, nodes)]


def _message(
    pool: Pool, resource: str, pool_quotas: list[CountedQuota], limits: tuple[_Capacity, _Capacity], *, in_nodes: bool
) -> str:
    unit = quota_unit(pool, resource, in_nodes=in_nodes)
    parts = [f"{quota.owner} {unit.count(quota.amounts[resource])}" for quota in pool_quotas if quota.amounts[resource]]
    total = unit.count(sum(quota.amounts[resource] for quota in pool_quotas))
    limit, largest = limits
    message = f"the sum of the quotas for node pool {pool.name} is {unit.text(total)} ({', '.join(parts)}); "
    message += f"expected at most {unit.count(limit.amount)}, the capacity of the node pool"
    if in_nodes or len(pool.instances) == 1:
        return message
    message += f" with {pool.nodes_max} {limit.instance.type}"
    if limit is largest:
        return message
    return f"{message}; {pool.nodes_max} {largest.instance.type} would have {unit.count(largest.amount)}"
