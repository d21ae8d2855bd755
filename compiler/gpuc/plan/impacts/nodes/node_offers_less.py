from gpuc.plan.advertised import advertised_changes
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact


@impact("IMP120", Level.DISRUPTS, source="NVIDIA MIG User Guide, device placement; catalog/mig.json")
def node_offers_less(change: Change) -> Impacts:
    """The MIG layout or the sharing of GPUs changes, and a node offers fewer slices, GPUs or shares.

    Pods that request a resource that no node offers any more stay pending. Running nodes keep what they offer until
    they are replaced, so running pods keep their slices.
    """
    yield from (offer.raised for offer in advertised_changes(change) if offer.less)
