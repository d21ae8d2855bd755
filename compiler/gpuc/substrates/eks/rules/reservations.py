"""Rules about the capacity reservations and capacity blocks of node pools."""

from datetime import datetime

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.diagnostics.today import today
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.eks.scaling import eks


@pool_rule("KRP013")
def incomplete_reservation(pool: Pool) -> Findings:
    """A node pool has reservations but does not buy reserved capacity, or buys reserved capacity without reservations."""  # noqa: E501
    is_reserved = "reserved" in eks(pool).spec.purchase
    if is_reserved and eks(pool).spec.reservations is None:
        path = (*eks(pool).path, "purchase", eks(pool).spec.purchase.index("reserved"))
        message = f"node pool {pool.name} buys reserved capacity, but has no reservations"
        yield Found(path, message, f"add reservations: {{ids: [...]}} to node pool {pool.name}")
    elif eks(pool).spec.reservations and not is_reserved:
        bought = ", ".join(eks(pool).spec.purchase)
        message = f"node pool {pool.name} has reservations, but purchase is {bought}; expected reserved"
        fix = f"add reserved to purchase of node pool {pool.name}"
        related = [Related(f"purchase is {bought}", (*eks(pool).path, "purchase"), on_key=True)]
        yield Found((*eks(pool).path, "reservations", "ids"), message, fix, related)


@pool_rule("KRP121")
def more_nodes_than_reserved(pool: Pool) -> Findings:
    """A node pool with only reserved capacity can have more nodes than its reservations have instances."""
    instances = eks(pool).reserved_instances
    if instances is not None and set(eks(pool).spec.purchase) == {"reserved"} and instances < pool.nodes_max:
        key = "static" if pool.is_static else "max"
        actual = f"nodes.{key} of node pool {pool.name} is {pool.nodes_max}"
        message = f"{actual}, but its reservations have {instances} instances; expected at most {instances} nodes"
        related = [Related(f"{instances} reserved instances", (*eks(pool).path, "reservations", "instances"))]
        yield Found((*pool.path, "nodes", key), message, related=related)


@pool_rule("KRP123", Severity.WARNING)
def other_capacity_beside_reservation(pool: Pool) -> Findings:
    """A node pool buys on-demand or spot capacity, although its reservations may have enough instances."""
    reservations = eks(pool).spec.reservations
    if reservations is None or reservations.block or "reserved" not in eks(pool).spec.purchase:
        return
    others = [bought for bought in eks(pool).spec.purchase if bought != "reserved"]
    if not others or (reservations.instances or pool.nodes_max) < pool.nodes_max:
        return
    path = (*eks(pool).path, "purchase", eks(pool).spec.purchase.index(others[0]))
    buys = f"node pool {pool.name} also buys {' and '.join(others)} capacity"
    if reservations.instances is None:
        message = f"{buys}, but reservations.instances is missing; expected less than {pool.nodes_max}"
        yield Found(path, message)
    else:
        message = f"{buys}, but {reservations.instances} instances are reserved for {pool.nodes_max} nodes"
        where = (*eks(pool).path, "reservations", "instances")
        related = [Related(f"{reservations.instances} reserved instances", where)]
        yield Found(path, message, f"set purchase of node pool {pool.name} to [reserved]", related)


@rule("KRP109", Severity.WARNING)
def reservation_used_twice(cluster: Cluster) -> Findings:
    """Two node pools use the same capacity reservation."""
    owners: dict[str, tuple[str, Path]] = {}
    for pool in cluster.pools:
        for index, id_ in enumerate(eks(pool).reserved_ids):
            path = (*eks(pool).path, "reservations", "ids", index)
            owner, first = owners.setdefault(id_, (pool.name, path))
            if owner != pool.name:
                message = f"node pool {pool.name} and node pool {owner} use reservation {id_}; expected one node pool"
                yield Found(path, message, related=[Related(f"node pool {owner} uses it here", first)])


@pool_rule("KRP107")
def block_with_other_capacity(pool: Pool) -> Findings:
    """A node pool with a capacity block also buys other capacity."""
    if eks(pool).block:
        for index, bought in enumerate(eks(pool).spec.purchase):
            if bought != "reserved" and "reserved" in eks(pool).spec.purchase:
                actual = f"node pool {pool.name} has a capacity block, but also buys {bought} capacity"
                related = [Related("the capacity block", (*eks(pool).path, "reservations", "block"), on_key=True)]
                fix = f"set purchase of node pool {pool.name} to [reserved]"
                yield Found((*eks(pool).path, "purchase", index), f"{actual}; expected only reserved", fix, related)


@pool_rule("KRP128", Severity.WARNING)
def ended_block(pool: Pool) -> Findings:
    """The capacity block of a node pool has ended."""
    reservations = eks(pool).spec.reservations
    if reservations is None or reservations.block is None or pool.spec.leaving or pool.spec.hold:
        return
    ends = reservations.block.ends
    if datetime.fromisoformat(ends).date() < today():
        message = f"the capacity block of node pool {pool.name} ended at {ends}; expected an end in the future"
        yield Found((*eks(pool).path, "reservations", "block", "ends"), message)


@pool_rule("KRP148")
def warm_reserved_nodes(pool: Pool) -> Findings:
    """A node pool with reserved capacity sets `nodes.min`, a minimum number of running nodes."""
    if pool.warm_nodes and "reserved" in eks(pool).spec.purchase:
        message = f"nodes.min of node pool {pool.name} is {pool.warm_nodes}, but the node pool buys reserved capacity"
        place = (*eks(pool).path, "purchase", eks(pool).spec.purchase.index("reserved"))
        related = [Related("reserved capacity", place)]
        yield Found((*pool.path, "nodes", "min"), f"{message}; expected no min, or nodes.static", related=related)
