from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_PATH = ("spec", "driver", "enabled")


@impact(
    "IMP143",
    Level.DISRUPTS,
    source="NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (DaemonSet), controllers/state_manager.go "
    "(isStateEnabled); NVIDIA/gpu-driver-container 06a208ca ubuntu24.04/nvidia-driver (_shutdown, _unload_driver)",
)
def driver_pods_deleted(change: Change) -> Impacts:
    """The GPU Operator no longer installs the driver, and deletes the driver pods of all nodes at once.

    The operator does not wait until Karpenter has replaced the nodes. A driver pod that ends stops the persistence
    daemon and the fabric manager of its node, and unloads the driver if no program uses it.
    """
    for pair in change.pairs("nvidia.com", "ClusterPolicy"):
        before, after = (value is not False for value in pair.values(*_PATH))
        if pair.is_changed and before and not after:
            message = "the GPU Operator deletes the driver pods of all nodes at once"
            details = (
                "a driver pod that ends stops the persistence daemon and the fabric manager of its node, and unloads "
                "the driver if no program uses it",
            )
            yield Raised("component gpu-operator", message, pair.after, _PATH, details)
