"""NodeOverlays of Karpenter: the overlays that apply to an instance type, and the overlays that set its capacity.

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
    """The weight; 0 if the object has no weight."""
    requirements: Selector
    capacity: Mapping[str, Any]
    """The quantities by resource, as in the object."""


def precedence(overlay: Overlay) -> tuple[int, str]:
    """Returns the sort key of an overlay: the weight, then the name. The overlay with the largest key wins."""
    return overlay.weight, overlay.name


def applies(overlay: Overlay, own: Offer) -> bool | None:
    """Returns whether an overlay applies to nodes of an instance type; None if the answer depends on unknown labels.

    Args:
        own: the labels of the instance type, of the node template and of the NodePool.
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
    """Returns the overlay that sets the capacity of each resource, by resource.

    Args:
        overlays: the overlays that apply, the overlay with the highest precedence first.
    """
    by_resource: dict[str, Overlay] = {}
    for overlay in overlays:
        for resource in overlay.capacity:
            by_resource.setdefault(resource, overlay)
    return by_resource
