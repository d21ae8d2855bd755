from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import flavor_text

_FIELDS = {"nodeLabels": "node labels", "tolerations": "tolerations", "topologyName": "topology"}


@impact("IMP224", Level.DISRUPTS, source="kueue v0.19.2 apis/kueue/v1beta2/resourceflavor_types.go, ResourceFlavorSpec")
def flavor_immutable(change: Change) -> Impacts:
    """A flavor with a topology changes, which the API server refuses.

    The node labels, the tolerations and the topology of a ResourceFlavor with a topology are immutable. The sync of the
    Application fails. Kueue keeps the old flavor: its workloads do not tolerate a new taint of the pool and stay
    pending on new nodes.
    """
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        changed = [field for field in _FIELDS if pair.changes("spec", field)]
        if changed and pair.values("spec", "topologyName")[0]:
            names = " and ".join(_FIELDS[field] for field in changed)
            message = f"the API server refuses other {names} of its ResourceFlavor, because the flavor has a topology"
            details = (
                "Kueue goes on with the old flavor, and the sync of the Application fails until the change is reverted",
                "to make the change, add a pool under another name and let the old pool leave",
            )
            predicts = (Prediction(f"object ResourceFlavor {pair.name}", "refused"),)
            path = ("spec", changed[0])
            yield Raised(flavor_text(change, pair.name), message, pair.after, path, details, predicts)
