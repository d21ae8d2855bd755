"""The AMI of a node pool in the spec."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Pool


def image_path(pool: Pool) -> Path:
    """Returns the path of the AMI in the spec: in the node pool, or in the cluster if the node pool names no AMI."""
    return (*pool.path, "image") if pool.spec.image else ("spec", "cloud", "aws", "image")


def has_ami_id(pool: Pool) -> bool:
    """Returns whether the spec names the AMI by id. gpuc does not know the driver version of such an AMI."""
    return pool.ami.startswith("ami-")
