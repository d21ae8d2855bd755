"""The costs of instances before and after a change, from the prices in the catalog.

gpuc computes the costs of a node pool at its maximum number of nodes, and the costs of a tenant at its quota. A tenant
pays for the nodes in its quotas, and each node of a pool costs the same. If several tenants use a queue, each of these
tenants pays an equal part of the quota. The quotas for a pool can contain more nodes together than the maximum of the
pool. The tenants then share the costs of the pool in proportion to their quotas. So all tenants of a pool together
never pay more than the costs of the pool.

Volumes, traffic and the control plane are not included. Reserved capacity counts only for the nodes that use it,
although the complete reservation costs money.

Source: AWS Pricing Calculator, assumptions: 730 hours in a month; Amazon EC2 User Guide, spot instances: without a
maximum price, a request pays at most the on-demand price.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised
from gpuc.plan.quantities import node_share

if TYPE_CHECKING:
    from gpuc.catalog.prices import Price
    from gpuc.catalog.records import Purchase
    from gpuc.model import Pool

HOURS = 730
"""The hours of a month."""


class Part(Struct, frozen=True):
    """Nodes with the same purchase option: their number, and the price of the most expensive instance type."""

    nodes: Fraction
    price: "Price | None"
    """The price of the most expensive instance type; None if a price is missing."""
    missing: tuple[str, ...] = ()
    """The missing prices in words, for example "p5.48xlarge, reserved, us-east-1"."""

    @property
    def monthly_usd(self) -> float:
        """The costs in USD a month; 0 if the price is missing."""
        return float(self.nodes) * self.price.hourly_usd * HOURS if self.price else 0.0


class Cost(Struct, frozen=True):
    """The costs of a group of nodes. Each Part has the nodes of one purchase option, for example of spot."""

    parts: tuple[Part, ...] = ()

    @property
    def monthly_usd(self) -> float:
        """The costs in USD a month. Nodes whose price is missing count as 0."""
        return sum(part.monthly_usd for part in self.parts)

    @property
    def unpriced(self) -> tuple[tuple[Fraction, tuple[str, ...]], ...]:
        """The nodes without a price, sorted: pairs of a number of nodes and the prices that these nodes lack."""
        return tuple(sorted((part.nodes, part.missing) for part in self.parts if part.price is None))

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing prices in words, sorted, for example "p5.48xlarge, reserved, us-east-1"."""
        return tuple(sorted({name for part in self.parts if part.price is None for name in part.missing}))

    @property
    def prices(self) -> "tuple[Price, ...]":
        """The prices of all nodes, each price only once."""
        return tuple(dict.fromkeys(part.price for part in self.parts if part.price is not None))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost((*self.parts, *other.parts))

    def share(self, share: Fraction) -> "Cost":
        """Returns the costs of a fraction of these nodes, for example of one half."""
        return Cost(tuple(replace(part, nodes=part.nodes * share) for part in self.parts))


def pool_costs(cluster: Cluster, *, always: bool = False) -> dict[str, Cost]:
    """Returns the costs by node pool, for the maximum number of nodes or, with `always`, for nodes that always run."""
    return {
        pool.name: _cost(cluster, pool, pool.always_running if always else pool.nodes_max) for pool in cluster.pools
    }


def tenant_costs(cluster: Cluster) -> dict[str, Cost]:
    """Returns the costs of each tenant by its name, if the tenant uses its complete quotas."""
    costs = {tenant.name: Cost() for tenant in cluster.tenants}
    for pool in cluster.pools:
        quotas = list(_quotas(cluster, pool))
        most = max(sum(nodes for _, nodes in quotas), pool.nodes_max)
        for tenant, nodes in quotas:
            costs[tenant] += _cost(cluster, pool, pool.nodes_max).share(nodes / most)
    return costs


def usd(amount: float) -> str:
    """Returns an amount in USD, rounded to three digits or more: "1,240 USD"."""
    step = 10 ** max(0, len(str(int(amount))) - 3)
    return f"{int(amount / step + 0.5) * step:,} USD"


def difference_text(amount: float) -> str:
    """Returns a difference of monthly costs in words, for example "1,240 USD a month less for instances"."""
    return f"{usd(abs(amount))} a month {'more' if amount > 0 else 'less'} for instances"


def price_source_words(costs: Iterable[Cost]) -> str:
    """Returns the purchase options and dates of prices in words, for example "on-demand prices of 2026-07-20"."""
    dates: dict[str, set[str]] = {}
    for price in (price for cost in costs for price in cost.prices):
        dates.setdefault(price.purchase, set()).add(price.date)
    spans = {purchase: " to ".join(sorted({min(found), max(found)})) for purchase, found in dates.items()}
    return ", ".join(f"{purchase} prices of {span}" for purchase, span in sorted(spans.items()))


def _cost(cluster: Cluster, pool: "Pool", nodes: int) -> Cost:
    return Cost(tuple(_parts(cluster, pool, nodes)) if nodes else ())


def _parts(cluster: Cluster, pool: "Pool", nodes: int) -> Iterator[Part]:
    """Yields the nodes by purchase option. Nodes that exist already have no price."""
    for count, purchases in pool.scaling.bought(nodes) if pool.scaling else ():
        yield _part(cluster, pool, Fraction(count), purchases)


def _part(cluster: Cluster, pool: "Pool", nodes: Fraction, purchases: "tuple[Purchase, ...]") -> Part:
    """Returns nodes with the highest price of all instance types and purchase options."""
    prices: list[Price] = []
    missing: dict[str, None] = {}
    region = cluster.substrate.region(cluster.spec)
    for instance in pool.instances:
        for purchase in purchases:
            # Spot capacity without a price costs at most the on-demand price.
            other: Purchase = "on-demand" if purchase == "spot" else purchase
            price = cluster.catalog.price
            found = price(instance.type, region, purchase) or price(instance.type, region, other)
            if found is None:
                missing[f"{instance.type}, {other}, {region}"] = None
            else:
                prices.append(found)
    if missing:
        return Part(nodes, None, tuple(missing))
    return Part(nodes, max(prices, key=lambda price: price.hourly_usd))


def _quotas(cluster: Cluster, pool: "Pool") -> Iterator[tuple[str, Fraction]]:
    """Yields the quotas for a pool in nodes: tenant, nodes. The tenants of a queue have equal parts of its quota."""
    for queue in cluster.queues:
        for quota in queue.pool_quotas:
            if quota.pool.name == pool.name:
                for name in queue.tenant_names:
                    yield name, node_share(pool, quota.nominal) / len(queue.tenant_names)
    for tenant in cluster.tenants:
        for limit in (quota for namespace in tenant.namespaces for quota in namespace.quotas):
            if limit.pool.name == pool.name:
                yield tenant.name, node_share(pool, limit.amounts)


class CostChange(Struct, frozen=True):
    """The costs of a node pool or of a tenant's quota, before and after a change.

    A node pool has two such changes: for its maximum number of nodes, and for its nodes that always run.
    """

    name: str
    path: Path
    """The path of the changed value in the spec."""
    before: Cost
    after: Cost

    @property
    def is_priced(self) -> bool:
        """Whether the difference of the costs is known, although the price of some nodes may be missing.

        If the nodes without a price are equal before and after the change, their costs cancel in the difference.
        """
        return self.before.unpriced == self.after.unpriced

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing prices that make the difference unknown; empty for a removed node pool or tenant."""
        return () if self.is_priced or not self.after.parts else self.after.missing or self.before.missing

    @property
    def monthly_usd(self) -> float:
        """The difference of the costs in USD a month."""
        return self.after.monthly_usd - self.before.monthly_usd

    @property
    def figures(self) -> str:
        """The difference and the costs in words: "20 USD a month less for instances: from 60 USD to 40 USD (...)"."""
        unpriced = ", without the nodes whose price is missing" if self.after.missing else ""
        return (
            f"{difference_text(self.monthly_usd)}: from {usd(self.before.monthly_usd)} to "
            f"{usd(self.after.monthly_usd)} ({price_source_words((self.before, self.after))}{unpriced})"
        )

    @property
    def is_reserved(self) -> bool:
        """Whether the costs before or the costs after the change contain reserved capacity."""
        return any(price.purchase == "reserved" for cost in (self.before, self.after) for price in cost.prices)


AT_MAXIMUM, ALWAYS = "at the maximum", "nodes that always run cost"


def pool_changes(change: Change) -> Iterator[CostChange]:
    """Yields the node pools for which the costs of the maximum number of nodes change, also added and removed pools."""
    yield from _changes(change, "pools", pool_costs, "max")


def always_changes(change: Change) -> Iterator[CostChange]:
    """Yields the node pools for which the costs of the nodes that always run change, also added and removed pools."""
    yield from _changes(change, "pools", partial(pool_costs, always=True), "min")


def described_changes(change: Change) -> Iterator[tuple[str, CostChange]]:
    """Yields each change of a node pool's costs, with the text "at the maximum" or "nodes that always run cost".

    In a static pool all nodes always run, so its change is yielded once, with the second text.
    """
    always = list(always_changes(change))
    yield from ((AT_MAXIMUM, cost) for cost in pool_changes(change) if cost not in always)
    yield from ((ALWAYS, cost) for cost in always)


def cost_impacts(change: Change, section: Literal["pools", "tenants"], sign: int) -> Iterator[Raised]:
    """Yields an impact for each node pool or tenant quota whose costs rise (`sign` 1) or fall (`sign` -1)."""
    costs = described_changes(change)
    if section == "tenants":
        costs = (("the quota costs", cost) for cost in _changes(change, "tenants", tenant_costs))
    for what, cost in costs:
        if cost.is_priced and cost.monthly_usd * sign > 0:
            details = ("reserved capacity costs the same without nodes",) if cost.is_reserved else ()
            subject = f"{'node pool' if section == 'pools' else 'tenant'} {cost.name}"
            yield Raised(subject, f"{what} {cost.figures}", path=cost.path, details=details)


def newly_priced(change: Change) -> Iterator[tuple[str, Cost]]:
    """Yields the name and costs of each node pool that had no price before the change and has a price after it."""
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    old, repriced, new = pool_costs(before), pool_costs(replace(before, catalog=after.catalog)), pool_costs(after)
    for name, cost in new.items():
        if name in old and old[name].missing and not repriced[name].missing and not cost.missing:
            yield name, cost


def _changes(
    change: Change, section: str, costs: Callable[[Cluster], Mapping[str, Cost]], size: str = ""
) -> Iterator[CostChange]:
    """Yields the elements of a section whose costs change.

    gpuc uses the prices of the state after for both states. If a change only adds a price to the catalog, the costs of
    the nodes do not change.

    Args:
        size: the field of `nodes` that changes the costs in most cases.
    """
    if change.before.exists and change.before.cluster is None:
        return
    first, second = change.before.cluster, change.after.cluster
    if first and second:
        first = replace(first, catalog=second.catalog)
    before, after = (costs(cluster) if cluster else {} for cluster in (first, second))
    for name in dict.fromkeys((*after, *before)):
        old, new = before.get(name, Cost()), after.get(name, Cost())
        if round(old.monthly_usd - new.monthly_usd) or old.unpriced != new.unpriced:
            yield CostChange(name, _cause(change, section, name, size), old, new)


def _sets_size(path: Path) -> bool:
    """Returns whether a path below a pool sets the number, the types or the purchase options of its nodes."""
    return not {"nodes", "instances", "purchase", "reservations"}.isdisjoint(path[:2])


def _cause(change: Change, section: str, name: str, size: str) -> Path:
    """Returns the path of the value that changes costs: numbers of nodes and quotas first, else the element."""
    element: Path = ("spec", section, name)
    if section == "pools":
        below = change.changed_paths(*element)
        sizes = [path for path in below if _sets_size(path[3:])]
        sizes.sort(key=lambda path: path[3:] not in (("nodes", size), ("nodes", "static")))
        return next(iter((*sizes, *below)), element)
    tenants = (tenant for state in (change.after, change.before) if state.cluster for tenant in state.cluster.tenants)
    queues = {queue.name for tenant in tenants if tenant.name == name for queue in tenant.queues}
    quotas = [path for path in change.changed_paths("spec", "queues") if queues.intersection(path[2:3])]
    quotas += [path for path in change.changed_paths(*element) if "quota" in path]
    return next(iter((*quotas, *change.changed_paths("spec", "pools"))), element)
