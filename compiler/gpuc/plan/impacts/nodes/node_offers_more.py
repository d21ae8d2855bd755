from gpuc.plan.advertised import advertised_changes
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact


@impact("IMP121", Level.NONE, source="NVIDIA MIG User Guide, device placement; catalog/mig.json")
def node_offers_more(change: Change) -> Impacts:
    """The MIG layout or the sharing of GPUs changes, and a node offers more slices, GPUs or shares, and nothing less.

    The new resources are on nodes that start after the change.
    """
    yield from (offer.raised for offer in advertised_changes(change) if not offer.less)
