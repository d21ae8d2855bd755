from gpuc.plan.change import Change
from gpuc.plan.gpu_configuration import mps_pools, restarting_settings
from gpuc.plan.impact import Impacts, Level, Raised, impact

_SETTINGS = ("devicePlugin", "daemonsets", "hostPaths", "operator")


@impact(
    "IMP141",
    Level.DISRUPTS,
    source="NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (TransformMPSControlDaemon); "
    "NVIDIA/k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/daemon.go (Stop)",
)
def mps_servers_restart(change: Change) -> Impacts:
    """The MPS servers of a node pool restart, and programs that share its GPUs fail.

    The MPS server runs in a pod of the GPU Operator, with the image and settings of the device plugin. If the pod ends,
    the server ends, and running CUDA programs lose their connection.
    """
    for pair in change.pairs("nvidia.com", "ClusterPolicy"):
        fields = [field for field in restarting_settings(pair) if field.path[1] in _SETTINGS]
        if fields:
            for name in mps_pools(change):
                message = "the MPS servers of its nodes restart, and running programs that use their GPUs fail"
                yield Raised(f"node pool {name}", message, pair.after, fields[0].path)
