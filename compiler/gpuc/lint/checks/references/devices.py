"""Names of resources that device plugins provide, and misspellings of these names."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from gpuc.diagnostics.spelling import misspelt

MIG: Final = re.compile(r"nvidia\.com/mig-(?:\d+c\.)?\d+g\.\d+gb(?:\.[a-z.+-]+)?")
"""Names of MIG devices under the mixed strategy (k8s-device-plugin v0.20.0, README.md)."""
_MISSPELT_MIG = re.compile(r"nvidia\.com/mig[-_.]?(\d+)g[-_.]?(\d+)g(?:b|i|ib)?(\.shared)?", re.IGNORECASE)

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
"""Resources of device plugins in GPU clusters.

Source: karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go, and the device plugins
"""


def is_device(name: str) -> bool:
    """Returns whether a device plugin provides a resource of this name."""
    return name in KNOWN or MIG.fullmatch(name) is not None


def intended_resource(name: str, offered: Collection[str]) -> str:
    """Returns the resource that a misspelt name most likely means.

    The result is an empty string if the name is correct, or similar to no known resource.

    Args:
        offered: names of further resources that objects of the input add to nodes.
    """
    if "/" not in name or is_device(name) or name in offered:
        return ""
    if match := _MISSPELT_MIG.fullmatch(name):
        return f"nvidia.com/mig-{match[1]}g.{match[2]}gb{match[3] or ''}"
    return misspelt(name, {*KNOWN, *offered})
