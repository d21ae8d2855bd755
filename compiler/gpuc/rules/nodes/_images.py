"""Where the spec names the image of a pool."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Pool


def image_path(pool: Pool) -> Path:
    """The pool's own image, or that of the cluster where it names none."""
    return (*pool.path, "image") if pool.spec.image else ("spec", "cloud", "aws", "image")


def is_own_ami(pool: Pool) -> bool:
    """Whether the image is the user's own, with a driver that only they know."""
    return pool.ami.startswith("ami-")
