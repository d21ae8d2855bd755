from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP142", Level.NONE, source="NVIDIA/gpu-operator v26.7.0 assets/state-driver/0500_daemonset.yaml (updateStrategy)"
)
def driver_changes(change: Change) -> Impacts:
    """The driver of the GPU Operator changes, or the GPU Operator starts to install the driver.

    The pods of the driver do not restart, because their DaemonSet has the update strategy OnDelete, and the
    ClusterPolicy disables automatic upgrades. Running nodes keep their driver, and new nodes get the new driver. A
    driver that the GPU Operator no longer installs is another impact.
    """
    for pair in change.pairs("nvidia.com", "ClusterPolicy"):
        fields = [field for field in pair.fields if field.is_below("spec", "driver")]
        enabled = [value is not False for value in pair.values("spec", "driver", "enabled")]
        if not pair.is_changed or not fields or not enabled[1]:
            continue
        before, after = pair.values("spec", "driver", "version")
        versions = f" {before} -> {after}" if before != after else ""
        message = f"new nodes get the new driver{versions}; running nodes keep their driver until they are replaced"
        if not enabled[0]:
            message = "the GPU Operator starts driver pods on the GPU nodes"
        yield Raised("component gpu-operator", message, pair.after, fields[0].path)
