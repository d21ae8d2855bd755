"""Karpenter's NodeOverlays: which apply to the nodes of an instance type, and whose capacity counts.

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
    """0 where it names none."""
    requirements: Selector
    capacity: Mapping[str, Any]
    """Quantities by resource, as they are written."""


def precedence(overlay: Overlay) -> tuple[int, str]:
    """The key to sort overlays by, the greatest first: by weight, and of equal weights the last name first."""
    return overlay.weight, overlay.name


def applies(overlay: Overlay, own: Offer) -> bool | None:
    """Whether an overlay is for nodes of an instance type; None where that depends on labels that are not known.

    Args:
        own: values of the labels of the type, of the template's labels and of the node pool's name.
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
    """By resource the overlay that gives it, of overlays that apply, in their order of precedence."""
    found: dict[str, Overlay] = {}
    for overlay in overlays:
        for resource in overlay.capacity:
            found.setdefault(resource, overlay)
    return found
