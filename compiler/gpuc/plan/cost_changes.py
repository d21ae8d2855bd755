"""The costs of node pools and tenants before and after a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.plan.change import Change
from gpuc.plan.costs import Cost, pool_costs, price_sources, tenant_costs, usd, warm_costs


@dataclass(frozen=True)
class CostChange:
    """The costs of a node pool at its maximum, or of a tenant at its quota."""

    name: str
    path: Path
    """The path of the changed value in the spec."""
    before: Cost
    after: Cost

    @property
    def is_priced(self) -> bool:
        """Whether the difference is known: the nodes without a price are the same in both states."""
        return self.before.unpriced == self.after.unpriced

    @property
    def monthly_usd(self) -> float:
        """The difference of the costs of a month."""
        return self.after.monthly_usd - self.before.monthly_usd

    @property
    def figures(self) -> str:
        """The difference and the costs of both states in words."""
        sign = "+" if self.monthly_usd > 0 else ""
        unpriced = ", without the nodes whose price is missing" if self.after.missing else ""
        return (
            f"{sign}{usd(self.monthly_usd)} a month for instances: from {usd(self.before.monthly_usd)} to "
            f"{usd(self.after.monthly_usd)} ({price_sources((self.before, self.after))}{unpriced})"
        )

    @property
    def reserved_text(self) -> tuple[str, ...]:
        """A sentence about reserved capacity; nothing without reserved capacity."""
        purchases = {price.purchase for cost in (self.before, self.after) for price in cost.prices}
        return ("reserved capacity costs the same without nodes",) if "reserved" in purchases else ()


def pool_changes(change: Change) -> Iterator[CostChange]:
    """Yields the node pools whose costs at the maximum change, also new and removed pools."""
    before, after = change.before.cluster, change.after.cluster
    yield from _changes(change, "pools", pool_costs(before), pool_costs(after))


def tenant_changes(change: Change) -> Iterator[CostChange]:
    """Yields the tenants whose costs at quota change, also new and removed tenants."""
    before, after = change.before.cluster, change.after.cluster
    yield from _changes(change, "tenants", tenant_costs(before), tenant_costs(after))


def always_text(cluster: Cluster | None, pool: str) -> tuple[str, ...]:
    """Returns a sentence about the nodes of a pool that always run; nothing for a pool without such nodes."""
    cost = warm_costs(cluster).get(pool)
    if cost is None or cost.missing:
        return ()
    return (f"the nodes that always run cost {usd(cost.monthly_usd)} a month",)


def _changes(
    change: Change, section: str, before: Mapping[str, Cost], after: Mapping[str, Cost]
) -> Iterator[CostChange]:
    if change.before.exists and change.before.cluster is None:
        return
    for name in dict.fromkeys((*after, *before)):
        old, new = before.get(name, Cost()), after.get(name, Cost())
        if round(old.monthly_usd - new.monthly_usd) or old.unpriced != new.unpriced:
            yield CostChange(name, _cause(change, section, name), old, new)


def _cause(change: Change, section: str, name: str) -> Path:
    """Returns the path of the value that changes costs: numbers of nodes and quotas first, else the element."""
    element: Path = ("spec", section, name)
    paths = [one.path for one in change.spec_changes]
    if section == "pools":
        below = [path for path in paths if path[:3] == element]
        sizes = [path for path in below if path[3:4] in (("nodes",), ("instances",), ("purchase",), ("reservations",))]
        return next(iter((*sizes, *below)), element)
    queues = {
        queue.name
        for state in (change.after, change.before)
        for tenant in (state.cluster.tenants if state.cluster else ())
        if tenant.name == name
        for queue in tenant.queues
    }
    quotas = [path for path in paths if path[:2] == ("spec", "queues") and len(path) > 2 and path[2] in queues]
    quotas += [path for path in paths if path[:3] == element and "quota" in path]
    pools = [path for path in paths if path[:2] == ("spec", "pools")]
    return next(iter((*quotas, *pools)), element)
