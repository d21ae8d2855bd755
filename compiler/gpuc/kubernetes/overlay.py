"""Karpenter NodeOverlays: which overlays apply to an instance type, and which of them sets the capacity.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1alpha1/nodeoverlay.go (OrderByWeight),
pkg/controllers/nodeoverlay/controller.go (getOverlaidOfferings) and store.go (updateInstanceTypeCapacity)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuc.kubernetes.node_pool import Offer, is_well_known, meets, normal
from gpuc.kubernetes.selector import Selector


class Overlay(NamedTuple):
    """A NodeOverlay."""

    name: str
    weight: int
    """The weight; 0 by default."""
    requirements: Selector
    capacity: Mapping[str, Any]
    """The quantities by resource, unparsed."""


def precedence(overlay: Overlay) -> tuple[int, str]:
    """Returns the sort key of overlays in descending order: first the weight, then the name."""
    return overlay.weight, overlay.name


def applies(overlay: Overlay, own: Offer) -> bool | None:
    """Returns whether an overlay applies to nodes of an instance type; None if it depends on unknown labels.

    Args:
        own: the labels of the instance type, the template and the node pool.
    """
    verdict: bool | None = True
    for wanted in overlay.requirements:
        key = normal(wanted.key)
        if key not in own and is_well_known(key):
            verdict = None
        elif not meets(own, wanted):
            return False
    return verdict


def capacity(overlays: Iterable[Overlay]) -> dict[str, Overlay]:
    """Returns the overlay that sets the capacity of a resource, by resource.

    Args:
        overlays: the overlays that apply, in their order of precedence.
    """
    found: dict[str, Overlay] = {}
    for overlay in overlays:
        for resource in overlay.capacity:
            found.setdefault(resource, overlay)
    return found
