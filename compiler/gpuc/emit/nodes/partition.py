"""MIG instances of a node as nvidia-smi names them: profile ids with explicit placements."""

from __future__ import annotations

from gpuc.model import GpuPool, Pool
from gpuc.model.layout import place


def gpus_by_layout(pool: Pool) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """GPU numbers and their instances as `profile id:start`, largest first; no numbers stands for every GPU.

    Placements are explicit because the driver's own choice can leave no place for the last instance.
    """
    assert isinstance(pool, GpuPool), "only pools with MIG have a layout"
    numbers = pool.sharing.gpus_by_layout
    same = len(numbers) == 1
    return [(() if same else tuple(gpus), _instances(pool, dict(layout))) for layout, gpus in numbers.items()]


def one_gpu_count(pool: Pool) -> int:
    """GPUs of each node; 0 where the types of the pool differ."""
    counts = {instance.gpu_count for instance in pool.instances}
    return counts.pop() if len(counts) == 1 else 0


def _instances(pool: GpuPool, layout: dict[str, int]) -> tuple[str, ...]:
    placed = place(layout, pool.profiles)
    assert placed is not None, "the model holds only layouts that fit"
    return tuple(
        f"{pool.profiles.profiles[profile].smi_id}:{start}" for profile, starts in placed.items() for start in starts
    )
