"""MIG instances of a node in the syntax of nvidia-smi: profile ids with explicit placements."""

from __future__ import annotations

from gpuc.model import GpuPool, Pool
from gpuc.model.layout import place


def gpus_by_layout(pool: Pool) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Return GPU numbers and their MIG instances as `profile id:start`, largest first. No numbers means all GPUs.

    Placements are explicit, because the placement of the driver can leave no space for the last instance.
    """
    assert isinstance(pool, GpuPool), "only pools with MIG have a layout"
    numbers = pool.sharing.gpus_by_layout
    same = len(numbers) == 1
    return [(() if same else tuple(gpus), _instances(pool, dict(layout))) for layout, gpus in numbers.items()]


def uniform_gpu_count(pool: Pool) -> int:
    """Return the number of GPUs of a node, or 0 if the instance types of the pool differ."""
    counts = {instance.gpu_count for instance in pool.instances}
    return counts.pop() if len(counts) == 1 else 0


def _instances(pool: GpuPool, layout: dict[str, int]) -> tuple[str, ...]:
    placed = place(layout, pool.profiles)
    assert placed is not None, "the model holds only layouts that fit"
    return tuple(
        f"{pool.profiles.profiles[profile].smi_id}:{start}" for profile, starts in placed.items() for start in starts
    )
