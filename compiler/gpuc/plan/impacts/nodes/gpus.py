"""Impacts on what nodes with GPUs offer."""

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quantities import advertised_changes


@impact("IMP120", Level.DISRUPTS)
def node_offers_less(change: Change) -> Impacts:
    """The MIG layout or the sharing of GPUs changes, and a node offers fewer slices, GPUs or shares."""
    yield from (offer.raised for offer in advertised_changes(change) if offer.less)


@impact("IMP121", Level.NONE)
def node_offers_more(change: Change) -> Impacts:
    """The MIG layout or the sharing of GPUs changes, and a node offers more slices, GPUs or shares, and nothing less."""  # noqa: E501
    yield from (offer.raised for offer in advertised_changes(change) if not offer.less)
