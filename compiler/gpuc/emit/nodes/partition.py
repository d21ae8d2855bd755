"""MIG instances of a node in the syntax of nvidia-smi: profile ids with explicit placements."""

from __future__ import annotations

from gpuc.model import GpuPool, Pool
from gpuc.model.layout import place


def gpus_by_layout(pool: Pool) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Returns pairs of GPU numbers and the MIG instances of these GPUs, as `profile id:start`, largest first.

    An empty tuple of GPU numbers means all GPUs. The start positions are explicit, because the driver can choose
    positions that leave no space for the last instance.
    """
    assert isinstance(pool, GpuPool), "only pools with MIG have a layout"
    numbers = pool.sharing.gpus_by_layout
    is_single = len(numbers) == 1
    return [(() if is_single else tuple(gpus), _instances(pool, dict(layout))) for layout, gpus in numbers.items()]


def uniform_gpu_count(pool: Pool) -> int:
    """Returns the number of GPUs of a node, or 0 if the instance types of the pool differ."""
    counts = {instance.gpu_count for instance in pool.instances}
    return counts.pop() if len(counts) == 1 else 0


def _instances(pool: GpuPool, layout: dict[str, int]) -> tuple[str, ...]:
    placed = place(layout, pool.profiles)
    assert placed is not None, "the model contains only layouts that fit"
    return tuple(
        f"{pool.profiles.profiles[profile].smi_id}:{start}" for profile, starts in placed.items() for start in starts
    )
