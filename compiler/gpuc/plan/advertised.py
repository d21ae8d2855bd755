"""The GPUs, MIG slices and GPU shares that a node of a pool offers, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.model import Pool
from gpuc.model.units import unit_name, with_unit
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised


@dataclass(frozen=True)
class AdvertisedChange:
    """A node pool whose nodes offer other resources."""

    name: str
    less: bool
    """Whether a node offers less of a resource."""
    raised: Raised
    """The impact: what a node offers instead of what."""


def advertised_changes(change: Change) -> Iterator[AdvertisedChange]:
    """Yields the node pools whose nodes offer other GPU resources. Needs the specs of both states."""
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    pools = {pool.name: pool for pool in before.pools}
    for pool in after.pools:
        old = pools.get(pool.name)
        if old is None or (first := _offered(old)) == (second := _offered(pool)):
            continue
        message = f"each node offers {_text(pool, second)} instead of {_text(old, first)}"
        quotas = ", ".join(sorted(f"queue {queue.name}" for queue in after.queues_of(pool)))
        details = (f"quotas on this pool: {quotas}",) if quotas else ()
        raised = Raised(f"node pool {pool.name}", message, path=sharing_path(change, pool), details=details)
        yield AdvertisedChange(pool.name, any(second.get(name, 0) < count for name, count in first.items()), raised)


def sharing_path(change: Change, pool: Pool) -> Path:
    """Returns the path in the spec of the first changed value below a pool, if possible below `sharing`."""
    below = change.changed_paths(*pool.path)
    return next(iter((*(path for path in below if "sharing" in path), *below)), pool.path)


def _offered(pool: Pool) -> dict[str, int]:
    """Returns the GPU resources of a node. The first instance type counts."""
    amounts = pool.advertised(pool.instances[0])
    return {name: amounts[name] for name in pool.gpu_resource_names if amounts.get(name)}


def _text(pool: Pool, amounts: dict[str, int]) -> str:
    return ", ".join(with_unit(count, unit_name(pool, name)) for name, count in amounts.items()) or "no GPUs"
