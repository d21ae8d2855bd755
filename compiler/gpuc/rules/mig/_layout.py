"""The place of a MIG layout in the spec."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model.gpu_pool import GpuPool


def layout_path(pool: GpuPool) -> Path:
    """Returns the path of the MIG layout of a pool: for all GPUs, or by GPU number."""
    mig = pool.spec.sharing.mig if pool.spec.sharing else None
    return (*pool.path, "sharing", "mig", "every" if mig and mig.every else "gpus")
