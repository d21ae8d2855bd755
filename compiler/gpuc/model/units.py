"""The units in which messages count the resources of node pools: nodes, GPUs, MIG slices or GPU shares."""

from fractions import Fraction

from msgspec import Struct

from gpuc.kubernetes.amounts import rounded
from gpuc.model.names import GPU, SHARED_GPU, mig_profile
from gpuc.model.pool import Pool
from gpuc.spec.queues import PoolAmount

_OBJECTS = {
    "services.loadbalancers": "LoadBalancer Services",
    "services.nodeports": "node ports",
    "persistentvolumeclaims": "PersistentVolumeClaims",
    "count/jobs.batch": "Jobs",
    "pods": "pods",
}
"""The units for limits of the number of objects in a namespace, by the key in a ResourceQuota."""


class Unit(Struct, frozen=True):
    """The unit in which messages count a quota, for example nodes or GPUs."""

    resource: str
    name: str
    """The unit in the plural: nodes, GPUs, 1g.10gb slices, GPU shares; empty for cpu and bytes."""
    size: int = 1
    """How much of the resource one unit has."""

    def count(self, amount: int) -> int:
        """Returns how many full units an amount of the resource contains."""
        return amount // self.size

    def text(self, count: int | Fraction | None) -> str:
        """Returns a number of units as text, for example "4 nodes"; "no limit" for None."""
        if count is None:
            return "no limit"
        return with_unit(count, self.name) if self.name else rounded(self.resource, count)

    def amount(self, amount: int | Fraction) -> str:
        """Converts an amount of the resource into units, and returns a text such as "4 nodes"."""
        return self.text(amount // self.size if self.size > 1 else amount)

    def number(self, amount: int | Fraction) -> str:
        """Converts an amount of the resource into units. Returns the number without the unit as text: "4"."""
        return _number(self.amount(amount))

    def span(self, before: int | None, after: int | None) -> str:
        """Returns a text about a change, for example "from 10 to 6 nodes"."""
        first = self.text(before)
        return f"from {_number(first) if before is not None and after is not None else first} to {self.text(after)}"

    def instead(self, before: int | Fraction | None, after: int | Fraction | None) -> str:
        """Returns a text about a changed limit, for example "at most 2 instead of 6 nodes"."""
        if before is None or after is None:
            texts = ["any amount" if count is None else f"at most {self.text(count)}" for count in (after, before)]
            return f"{texts[0]} instead of {texts[1]}"
        return f"at most {_number(self.text(after))} instead of {self.text(before)}"


def quota_unit(pool: Pool, resource: str, *, in_nodes: bool = False) -> Unit:
    """Returns the unit of a pool's quotas in messages: nodes if `in_nodes`, otherwise the unit of the resource."""
    return Unit(resource, "nodes", pool.node[resource]) if in_nodes else Unit(resource, unit_name(pool, resource))


def unit_name(pool: Pool | None, resource: str) -> str:
    """Returns the unit of a resource in the plural, for example "GPU shares"; empty for cpu and bytes.

    Args:
        pool: the pool that has the resource; None if the pool is not known.
    """
    sharing = pool.sharing if pool else None
    if resource == SHARED_GPU or (resource == GPU and sharing and sharing.mode == "shared"):
        return "GPU shares"
    if profile := mig_profile(resource):
        return f"{profile} slices"
    if resource != GPU:
        return _OBJECTS.get(resource, "")
    if sharing is None or sharing.mode == "exclusive":
        return "GPUs"
    if sharing.strategy == "mixed":
        return "whole GPUs"
    profiles = sharing.slices()
    return f"{next(iter(profiles))} slices" if len(profiles) == 1 else "slices"


def unit_amounts(pool: Pool, amount: PoolAmount) -> dict[str, int]:
    """Returns the amounts of a quota in the spec by unit, for example {"1g.10gb slices": 28, "whole GPUs": 4}."""
    counts = {"nodes": amount.nodes, unit_name(pool, GPU): amount.gpus, "GPU shares": amount.shares}
    counts |= {f"{profile} slices": count for profile, count in (amount.slices or {}).items()}
    return {unit: count for unit, count in counts.items() if count is not None}


def quota_text(pool: Pool, amount: PoolAmount) -> str:
    """Returns a quota in the spec as text, for example "10 nodes (80 GPUs)" or "4 whole GPUs, 28 1g.10gb slices"."""
    text = ", ".join(with_unit(count, unit) for unit, count in unit_amounts(pool, amount).items())
    units = [(unit_name(pool, resource), count) for resource, count in pool.node.items() if count]
    content = ", ".join(with_unit(amount.nodes * count, unit) for unit, count in units if unit and amount.nodes)
    return f"{text} ({content})" if content else text


def with_unit(count: int | Fraction, unit: str) -> str:
    """Returns a number with its unit, for example "1 node", "28 1g.10gb slices" or "2.5 GPUs".

    Args:
        unit: the unit in the plural.
    """
    return f"{number_text(count)} {unit.removesuffix('s') if count == 1 else unit}"


def number_text(count: int | Fraction) -> str:
    """Returns a number as text. A fraction has one digit after the decimal point."""
    return str(count.numerator) if count.denominator == 1 else f"{float(count):.1f}"


def _number(text: str) -> str:
    """Returns a number without its unit."""
    return text.partition(" ")[0]
