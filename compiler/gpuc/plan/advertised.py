"""The GPUs, MIG slices and GPU shares that a node of a pool offers, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.model import Pool
from gpuc.plan.change import Change
from gpuc.plan.quantities import amount_text


@dataclass(frozen=True)
class AdvertisedChange:
    """A node pool whose nodes offer other resources."""

    name: str
    path: Path
    """The path of the changed value in the spec."""
    before: dict[str, int]
    after: dict[str, int]
    details: tuple[str, ...]

    @property
    def less(self) -> bool:
        """Whether a node offers less of a resource."""
        return any(self.after.get(name, 0) < count for name, count in self.before.items())

    @property
    def words(self) -> str:
        """What a node offers instead of what."""
        return f"{_text(self.after)} instead of {_text(self.before)}"


def advertised_changes(change: Change) -> Iterator[AdvertisedChange]:
    """Yields the node pools whose nodes offer other GPU resources. Needs the specs of both states."""
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    old = {pool.name: pool for pool in before.pools}
    for pool in after.pools:
        if pool.name in old and (first := _offered(old[pool.name])) != (second := _offered(pool)):
            quotas = sorted(
                f"queue {queue.name}"
                for queue in after.queues
                for quota in queue.pool_quotas
                if quota.pool.name == pool.name
            )
            details = (f"quotas on this pool: {', '.join(quotas)}",) if quotas else ()
            yield AdvertisedChange(pool.name, sharing_path(change, pool), first, second, details)


def _offered(pool: Pool) -> dict[str, int]:
    """Returns the GPU resources of a node, without the prefix of the vendor. The first instance type counts."""
    amounts = pool.advertised(pool.instances[0])
    names = [name for name in pool.gpu_resource_names if amounts.get(name)]
    return {name.removeprefix("nvidia.com/"): amounts[name] for name in names}


def sharing_path(change: Change, pool: Pool) -> Path:
    """Returns the path in the spec of the first changed value below a pool, if possible below `sharing`."""
    below = [one.path for one in change.spec_changes if one.path[: len(pool.path)] == pool.path]
    sharing = [path for path in below if "sharing" in path]
    return next(iter((*sharing, *below)), pool.path)


def _text(amounts: dict[str, int]) -> str:
    return ", ".join(amount_text(count, _unit(name)) for name, count in amounts.items()) or "no GPUs"


def _unit(name: str) -> str:
    """Returns the unit of a resource in the words of the spec, for example "slices 1g.10gb"."""
    return {"gpu": "GPUs", "gpu.shared": "shares"}.get(name, f"slices {name.removeprefix('mig-')}")
