"""The place of a pool's image in the spec."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Pool


def image_path(pool: Pool) -> Path:
    """The path of the pool's own image, or of the cluster's image if the pool has none."""
    return (*pool.path, "image") if pool.spec.image else ("spec", "cloud", "aws", "image")


def is_own_ami(pool: Pool) -> bool:
    """Whether the image is the user's own AMI, whose driver version gpuc does not know."""
    return pool.ami.startswith("ami-")
