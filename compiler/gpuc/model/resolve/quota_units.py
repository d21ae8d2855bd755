"""Converts amounts of a pool from the units of the spec (nodes, GPUs, slices, GPU shares) to resources."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import Amounts, round_down, scale, total
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.names import GPU, SHARED_GPU
from gpuc.model.pool import Pool
from gpuc.spec.queues import PoolAmount

QUOTA_UNIT = declare_rule(
    "KUE101", Severity.ERROR, "A quota has a unit that its node pool does not have.",
    "A quota for a resource that no node advertises admits no workload, or limits nothing.",
)  # fmt: skip


def resources(pool: Pool, amount: PoolAmount) -> Amounts:
    """Returns an amount of a pool as amounts of all resources of the pool.

    Raises:
        ValueError: when the pool does not have the unit of the amount.
    """
    if amount.nodes is not None:
        return scale(pool.node, amount.nodes)
    if amount.shares is not None:
        return _gpu_shares(pool, amount.shares)
    return total([
        dict.fromkeys(pool.node, 0),
        slice_resources(pool, amount.slices or {}),
        _gpus(pool, amount.gpus) if amount.gpus is not None else {},
    ])  # fmt: skip


def _gpus(pool: Pool, count: int) -> Amounts:
    if not isinstance(pool, GpuPool):
        raise ValueError(f"node pool {pool.name} has no GPUs; expected a quota in nodes")
    if pool.sharing.mode == "exclusive":
        return round_down(scale(pool.node, count, pool.gpus_per_node))
    if pool.sharing.whole_gpus:
        return scale(pool.portions[GPU], count)
    unit = "slices" if pool.sharing.mode == "mig" else "shares"
    raise ValueError(f"node pool {pool.name} has no whole GPUs; expected a quota in {unit}")


def slice_resources(pool: Pool, counts: dict[str, int]) -> Amounts:
    """Returns the amounts for MIG slices: the slices, and their fraction of cpu, memory and ephemeral storage."""
    amounts = []
    for profile, count in counts.items():
        if pool.sharing is None or pool.sharing.mode != "mig":
            unit = "shares" if pool.sharing and pool.sharing.mode == "shared" else "nodes"
            raise ValueError(f"node pool {pool.name} has no MIG slices; expected a quota in {unit}")
        available = pool.sharing.slices()
        if profile not in available:
            raise ValueError(f"node pool {pool.name} has no {profile} slices; expected one of {', '.join(available)}")
        amounts.append(scale(pool.portions[pool.sharing.resource(profile)], count))
    return total(amounts)


def _gpu_shares(pool: Pool, count: int) -> Amounts:
    if pool.sharing is None or pool.sharing.mode != "shared":
        raise ValueError(f"node pool {pool.name} has no GPU shares; expected a quota in nodes")
    return scale(pool.portions[SHARED_GPU], count)
