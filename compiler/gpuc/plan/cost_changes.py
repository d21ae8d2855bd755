"""The costs of node pools and tenants before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.plan.change import Change
from gpuc.plan.costs import Cost, always_costs, difference_text, pool_costs, price_sources, tenant_costs, usd
from gpuc.plan.impact import Raised


@dataclass(frozen=True)
class CostChange:
    """The costs of a node pool at its maximum or of its nodes that always run, or of a tenant at its quota."""

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
    def missing(self) -> tuple[str, ...]:
        """The missing prices because of which the difference is not known. Something that is removed needs no price."""
        return () if self.is_priced or not self.after.parts else self.after.missing or self.before.missing

    @property
    def monthly_usd(self) -> float:
        """The difference of the costs of a month."""
        return self.after.monthly_usd - self.before.monthly_usd

    @property
    def figures(self) -> str:
        """The difference and the costs of both states in words."""
        unpriced = ", without the nodes whose price is missing" if self.after.missing else ""
        return (
            f"{difference_text(self.monthly_usd)}: from {usd(self.before.monthly_usd)} to "
            f"{usd(self.after.monthly_usd)} ({price_sources((self.before, self.after))}{unpriced})"
        )

    @property
    def is_reserved(self) -> bool:
        """Whether one of the states has reserved capacity."""
        return any(price.purchase == "reserved" for cost in (self.before, self.after) for price in cost.prices)


AT_MAXIMUM, ALWAYS = "at the maximum", "nodes that always run cost"


def pool_changes(change: Change) -> Iterator[CostChange]:
    """Yields the node pools whose costs at the maximum change, also new and removed pools."""
    yield from _changes(change, "pools", pool_costs, "max")


def always_changes(change: Change) -> Iterator[CostChange]:
    """Yields the node pools whose nodes that always run change their costs, also new and removed pools."""
    yield from _changes(change, "pools", always_costs, "min")


def described_changes(change: Change) -> Iterator[tuple[str, CostChange]]:
    """Yields the changes of both kinds with what costs. A static pool has the same change twice, and counts once."""
    always = list(always_changes(change))
    yield from ((AT_MAXIMUM, cost) for cost in pool_changes(change) if cost not in always)
    yield from ((ALWAYS, cost) for cost in always)


def cost_impacts(change: Change, section: Literal["pools", "tenants"], sign: int) -> Iterator[Raised]:
    """Yields an impact for each node pool, or each tenant at its quota, that costs more (1) or less (-1)."""
    costs = described_changes(change)
    if section == "tenants":
        costs = (("the quota costs", cost) for cost in _changes(change, "tenants", tenant_costs))
    for what, cost in costs:
        if cost.is_priced and cost.monthly_usd * sign > 0:
            details = ("reserved capacity costs the same without nodes",) if cost.is_reserved else ()
            subject = f"{'node pool' if section == 'pools' else 'tenant'} {cost.name}"
            yield Raised(subject, f"{what} {cost.figures}", path=cost.path, details=details)


def newly_priced(change: Change) -> Iterator[tuple[str, Cost]]:
    """Yields the node pools of both states that have a price only in the catalog of the state after: name, costs."""
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

    The prices of the state after count for both states: what nodes cost does not change when a price is written down.

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


def _cause(change: Change, section: str, name: str, size: str) -> Path:
    """Returns the path of the value that changes costs: numbers of nodes and quotas first, else the element."""
    element: Path = ("spec", section, name)
    if section == "pools":
        below = change.changed_paths(*element)
        sizes = [path for path in below if path[3:4] in (("nodes",), ("instances",), ("purchase",), ("reservations",))]
        sizes.sort(key=lambda path: path[3:] not in (("nodes", size), ("nodes", "static")))
        return next(iter((*sizes, *below)), element)
    tenants = (tenant for state in (change.after, change.before) if state.cluster for tenant in state.cluster.tenants)
    queues = {queue.name for tenant in tenants if tenant.name == name for queue in tenant.queues}
    quotas = [path for path in change.changed_paths("spec", "queues") if queues.intersection(path[2:3])]
    quotas += [path for path in change.changed_paths(*element) if "quota" in path]
    return next(iter((*quotas, *change.changed_paths("spec", "pools"))), element)
