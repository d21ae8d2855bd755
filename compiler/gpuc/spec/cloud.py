"""The cloud provider of the cluster."""

from __future__ import annotations

from gpuc.spec.base import SpecModel
from gpuc.spec.eks import Aws


class Cloud(SpecModel):
    """The cloud provider of the cluster: `aws`."""

    aws: Aws
    """An EKS cluster."""
