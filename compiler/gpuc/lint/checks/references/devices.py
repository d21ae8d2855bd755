"""Names of resources that devices of nodes are known by, and names that are nearly one."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from gpuc.diagnostics.spelling import misspelt

MIG: Final = re.compile(r"nvidia\.com/mig-(?:\d+c\.)?\d+g\.\d+gb(?:\.[a-z.+-]+)?")
"""What the device plugin calls slices of a GPU under the mixed strategy (k8s-device-plugin v0.20.0, README.md)."""
_NEARLY_MIG = re.compile(r"nvidia\.com/mig[-_.]?(\d+)g[-_.]?(\d+)g(?:b|i|ib)?(\.shared)?", re.IGNORECASE)

KNOWN: Final = frozenset(
    (
        "amd.com/gpu",
        "aws.amazon.com/neuron",
        "aws.amazon.com/neuroncore",
        "aws.amazon.com/neurondevice",
        "google.com/tpu",
        "habana.ai/gaudi",
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "vpc.amazonaws.com/efa",
        "vpc.amazonaws.com/pod-eni",
    )
)
"""Resources of the device plugins of GPU clusters (Karpenter's provider v1.14.1, pkg/apis/v1/labels.go, and theirs)."""


def is_device(name: str) -> bool:
    """Whether a name is known to be one that a device plugin gives."""
    return name in KNOWN or MIG.fullmatch(name) is not None


def meant(name: str, offered: Collection[str]) -> str:
    """The resource that a name is nearly; empty where it is one, or is another's.

    Args:
        offered: further names that something in the tree gives to nodes.
    """
    if "/" not in name or is_device(name) or name in offered:
        return ""
    if nearly := _NEARLY_MIG.fullmatch(name):
        return f"nvidia.com/mig-{nearly[1]}g.{nearly[2]}gb{nearly[3] or ''}"
    return misspelt(name, {*KNOWN, *offered})
