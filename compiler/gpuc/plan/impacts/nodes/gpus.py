"""Impacts on what nodes with GPUs offer."""

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quantities import advertised_changes


@impact("IMP120", Level.DISRUPTS, source="NVIDIA MIG User Guide, device placement; catalog/mig.json")
def node_offers_less(change: Change) -> Impacts:
    """The MIG layout or the sharing of GPUs changes, and a node offers fewer slices, GPUs or shares.

    Pods that request a resource that no node offers any more stay pending. Running nodes keep what they offer until
    they are replaced, so running pods keep their slices.
    """
    yield from (offer.raised for offer in advertised_changes(change) if offer.less)


@impact("IMP121", Level.NONE, source="NVIDIA MIG User Guide, device placement; catalog/mig.json")
def node_offers_more(change: Change) -> Impacts:
    """The MIG layout or the sharing of GPUs changes, and a node offers more slices, GPUs or shares, and nothing less.

    The new resources are on nodes that start after the change.
    """
    yield from (offer.raised for offer in advertised_changes(change) if not offer.less)
