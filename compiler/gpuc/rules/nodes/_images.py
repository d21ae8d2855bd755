"""The path of a node pool's AMI in the spec."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Pool


def image_path(pool: Pool) -> Path:
    """Returns the path of the pool's own AMI, or the path of the cluster's AMI if the pool has none."""
    return (*pool.path, "image") if pool.spec.image else ("spec", "cloud", "aws", "image")


def is_own_ami(pool: Pool) -> bool:
    """Returns whether the pool has an AMI of the user. gpuc does not know the driver version of such an AMI."""
    return pool.ami.startswith("ami-")
