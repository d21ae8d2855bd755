"""Rules that compare the quotas for a node pool with the capacity of the node pool.

If a pool has several instance types, its capacity depends on the types that start. So quotas can exceed the capacity in
all cases, or only if nodes of the smallest type start. Quotas can also be less than the capacity.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from msgspec import Struct

from gpuc.catalog.records import InstanceType
from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.units import Unit, quota_unit, with_unit
from gpuc.rules import Findings, Found, rule
from gpuc.rules.queues.places import CountedQuota, counted_resources, owner_kind, quota_path, quotas

_MOST_OWNERS = 10
"""The most owners of quotas in one message."""


class Counted(Struct, frozen=True):
    """The quota of one queue or namespace, as a part of a sum that is compared with the capacity of nodes."""

    owner: str
    amount: int | Fraction
    path: Path
    manifest: Manifest | None = None
    """The object with the path; None for a quota of the spec."""


class _Capacity(Struct, frozen=True):
    """The amount of a resource on the maximum number of nodes, if all nodes have the same instance type."""

    amount: int
    instance: InstanceType


def exceeding_quotas(cluster: Cluster, *, is_possible: bool) -> Findings:
    """Yields findings for quotas that exceed the capacity of their pool.

    Args:
        is_possible: True for quotas that exceed the capacity only if all nodes have the smallest instance type; False
            for quotas that exceed the capacity with every instance type.
    """
    for pool in cluster.pools:
        if pool.promised_nodes < 1:
            continue  # a finding of the substrate
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.spec.nodes is not None for quota in pool_quotas)
        reported: set[Path] = set()
        for resource in counted_resources(pool):
            smallest, largest = _capacities(pool, resource, in_nodes=in_nodes)
            limit = smallest if is_possible else largest
            total = sum(quota.amounts[resource] for quota in pool_quotas)
            if limit.amount < total and (not is_possible or total <= largest.amount):
                found = _exceeding(pool, resource, pool_quotas, (limit, largest), in_nodes=in_nodes)
                if found.path not in reported:
                    reported.add(found.path)
                    yield found


def beyond(rows: Sequence[Counted], limit: int, of: str, owner_of_nodes: str, unit: Unit) -> Found:
    """Returns the finding about quotas whose sum exceeds a limit, at the first quota that makes the sum too large.

    Args:
        of: what the quotas are for, for example "node pool train".
        owner_of_nodes: what has the nodes, for example "the node pool".
    """
    *_, total = sums = list(accumulate(row.amount for row in rows))
    first = next(row for row, subtotal in zip(rows, sums, strict=True) if subtotal > limit)
    parts = [f"{row.owner}: {unit.number(row.amount)}" for row in rows if row.amount]
    more = f" and {len(parts) - _MOST_OWNERS} more" if len(parts) > _MOST_OWNERS else ""
    actual = f"the sum of the quotas for {of} is {unit.amount(total)} ({', '.join(parts[:_MOST_OWNERS])}{more})"
    message = f"{actual}; expected at most {unit.number(limit)}, the capacity of {owner_of_nodes}"
    return Found(first.path, message, manifest=first.manifest)


def _capacities(pool: Pool, resource: str, *, in_nodes: bool) -> tuple[_Capacity, _Capacity]:
    """Returns the capacity that is certain, and the capacity with the largest nodes.

    A quota in nodes is a multiple of the smallest node; more nodes than the maximum cannot exist.
    """
    by_type = [(pool.tenant_allocatable(instance)[resource], instance) for instance in pool.instances]
    smallest = min(by_type, key=lambda row: row[0])[1]
    largest, instance = max(by_type, key=lambda row: row[0])
    certain = _Capacity(pool.capacity[resource], smallest)
    return certain, certain if in_nodes else _Capacity(largest * pool.promised_nodes, instance)


def _exceeding(
    pool: Pool, resource: str, pool_quotas: list[CountedQuota], limits: tuple[_Capacity, _Capacity], *, in_nodes: bool
) -> Found:
    """Returns the finding with the places of the other quotas that count, and of the maximum number of nodes."""
    unit, (limit, largest) = quota_unit(pool, resource, in_nodes=in_nodes), limits
    kind = owner_kind(pool)
    rows = [
        Counted(f"{kind} {quota.owner}", quota.amounts[resource], quota_path(quota.path, quota.spec, resource))
        for quota in pool_quotas
    ]
    found = beyond(rows, limit.amount, f"node pool {pool.name}", "the node pool", unit)
    message, most = found.message, f"node pool {pool.name} has at most {with_unit(pool.nodes_max, 'nodes')}"
    if pool.inventory:
        message += f": {pool.inventory}"
    if not in_nodes and len(pool.instances) == 1:
        most += f" with {unit.amount(pool.node[resource])} each"
    elif not in_nodes:
        message += f" with {pool.promised_nodes} {limit.instance.type}"
        if limit is not largest:
            message += f", or {unit.number(largest.amount)} with {pool.nodes_max} {largest.instance.type}"
    related = [
        Related(f"quota of {row.owner}: {unit.amount(row.amount)}", row.path)
        for row in rows
        if row.amount and row.path != found.path
    ]
    over, node, fix = int(sum(row.amount for row in rows) - limit.amount), pool.node[resource], ""
    if over <= node * min(pool.spares, pool.excluded):
        left = pool.spares + (-over // node)
        fix = f"set spares of node pool {pool.name} to {left}, because spares replace excluded nodes"
    return found._replace(message=message, fix=fix, related=[*related, Related(most, pool.nodes_path)])


@rule("KRP004")
def quotas_exceed_capacity(cluster: Cluster) -> Findings:
    """The sum of the quotas for a node pool exceeds the capacity of the node pool."""
    yield from exceeding_quotas(cluster, is_possible=False)


@rule("KRP006", Severity.WARNING)
def quotas_exceed_smallest_nodes(cluster: Cluster) -> Findings:
    """The quotas for a node pool exceed the capacity of the node pool if all nodes have the smallest instance type."""
    yield from exceeding_quotas(cluster, is_possible=True)


@rule("VER004", Severity.INFO)
def capacity_without_queue(cluster: Cluster) -> Findings:
    """The sum of the quotas for a node pool is less than the capacity of the node pool."""
    for pool in cluster.pools if cluster.tenants else ():
        if pool.spec.leaving:
            continue
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.spec.nodes is not None for quota in pool_quotas)
        unused = []
        for resource in counted_resources(pool):
            capacity = pool.capacity[resource]
            rest = capacity - sum(quota.amounts[resource] for quota in pool_quotas)
            if rest > 0:
                unit = quota_unit(pool, resource, in_nodes=in_nodes)
                unused.append(f"{unit.count(rest)} of {unit.count(capacity)} {unit.name}")
        if unused:
            amounts = ", ".join(dict.fromkeys(unused))
            yield Found(pool.nodes_path, without_quota(owner_kind(pool), f"{amounts} of node pool {pool.name}"))


def without_quota(owners: str, what: str) -> str:
    """Returns the message "no queue has quota for ...", for example about 2 of 8 GPUs of a node pool."""
    return f"no {owners} has quota for {what}"
