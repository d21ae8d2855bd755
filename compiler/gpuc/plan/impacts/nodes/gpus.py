"""Impacts on the GPUs, MIG slices and GPU shares that a node offers to pods."""

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quantities import advertised_changes


@impact("IMP120", Level.DISRUPTS)
def node_offers_less(change: Change) -> Impacts:
    """The MIG layout or the GPU sharing of a node pool changes, and each node offers fewer GPUs, slices or shares."""
    yield from (offer.raised for offer in advertised_changes(change) if offer.less)


@impact("IMP121", Level.NONE)
def node_offers_more(change: Change) -> Impacts:
    """The MIG layout or the GPU sharing of a node pool changes, and each node offers more GPUs, slices or shares."""
    yield from (offer.raised for offer in advertised_changes(change) if not offer.less)
