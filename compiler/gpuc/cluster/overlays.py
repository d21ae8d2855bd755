"""NodeOverlays of Karpenter: which of them apply to the nodes of an instance type, and in which order.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1alpha1/nodeoverlay.go (OrderByWeight), pkg/controllers/nodeoverlay
(getOverlaidOfferings) and store.go (updateInstanceTypeCapacity)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, NODE_POOL, Offer, is_well_known, meets, normal, offer
from gpuc.kubernetes.selector import POOL_OPERATORS, Invalid, Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, pairs
from gpuc.objects.selectors import read_requirements


class Overlay(NamedTuple):
    """A NodeOverlay of Karpenter, which adds resources to nodes or replaces the amounts of their resources."""

    manifest: Manifest
    weight: int
    """The weight; 0 if the object has no weight."""
    requirements: Selector
    capacity: Mapping[str, Any]
    """The quantities by resource, as in the object."""
    is_sure: bool = True
    """Whether the overlay certainly applies to some nodes; False if the answer depends on unknown labels."""

    def applies(self, own: Offer) -> bool | None:
        """Returns whether the overlay applies to nodes with these labels; None if unknown labels decide about it.

        Args:
            own: the labels of the instance type, of the node template and of the NodePool.
        """
        verdict: bool | None = True
        for wanted in self.requirements:
            key = normal(wanted.key)
            if key not in own and is_well_known(key):
                verdict = None
            elif not meets(own, wanted):
                return False
        return verdict


class Overlays:
    """The valid NodeOverlays in a set of objects."""

    def __init__(self, objects: ObjectSet) -> None:
        self._by_selection: dict[tuple[str, str], list[Overlay]] = {}
        """Overlays by a label key and a value that the overlay selects; by empty strings without such a label."""
        for manifest in objects.of(KARPENTER, "NodeOverlay"):
            try:
                overlay = _overlay(manifest)
            except Invalid:
                continue
            wanted = offer(overlay.requirements)
            key = next((key for key in (NODE_POOL, INSTANCE_TYPE) if key in wanted and wanted[key].listed), "")
            for value in wanted[key].values if key else ("",):
                self._by_selection.setdefault((key, value), []).append(overlay)

    def of(self, pool: str, name: str, own: Offer) -> list[Overlay]:
        """Returns the NodeOverlays that apply to nodes of a pool. The last in the list has the highest precedence.

        Args:
            pool: the name of the NodePool.
            name: the name of the instance type.
            own: the labels as in `Overlay.applies`.
        """
        candidates = (
            overlay
            for key in ((NODE_POOL, pool), (INSTANCE_TYPE, name), ("", ""))
            for overlay in self._by_selection.get(key, ())
        )
        applied = [
            overlay._replace(is_sure=verdict is True)
            for overlay in candidates
            if (verdict := overlay.applies(own)) is not False
        ]
        return sorted(applied, key=lambda overlay: (overlay.weight, overlay.manifest.name))


def _overlay(manifest: Manifest) -> Overlay:
    spec = manifest.body.get("spec")
    weight = dig(spec, "weight")
    wanted = read_requirements(dig(spec, "requirements"), POOL_OPERATORS)
    return Overlay(manifest, weight if isinstance(weight, int) else 0, wanted, dict(pairs(dig(spec, "capacity"))))
