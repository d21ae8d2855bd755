from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP140",
    Level.RESTRICTS,
    source="NVIDIA GPU Operator v26.7 controllers/object_controls.go (DaemonSets of operands)",
)
def agents_restart(change: Change) -> Impacts:
    """Programs on the nodes restart: operands of the GPU Operator, or DaemonSets of gpuc.

    While the device plugin restarts, no new pod gets GPUs on the node. Running pods keep their GPUs. A new version of
    the driver is not part of this impact, because the driver is in the image of the node.
    """
    for pair in change.pairs("nvidia.com", "ClusterPolicy"):
        fields = [field for field in pair.fields if field.is_below("spec")]
        if pair.is_changed and fields:
            names = sorted({str(field.path[1]) for field in fields if field.path[1:]})
            message = f"the GPU Operator restarts its operands on all GPU nodes; settings of {', '.join(names)} change"
            yield Raised("component gpu-operator", message, pair.after, fields[0].path)
    for pair in change.pairs("apps", "DaemonSet"):
        if pair.changes("spec", "template"):
            message = "its pods restart, one node after the other"
            yield Raised(f"DaemonSet {pair.name}", message, pair.after, ("spec", "template"))
