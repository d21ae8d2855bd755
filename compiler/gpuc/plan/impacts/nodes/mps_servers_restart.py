from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.operands import MPS, mps_pools, operand_changes


@impact(
    "IMP141",
    Level.DISRUPTS,
    source="NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (TransformMPSControlDaemon), "
    "assets/state-mps-control-daemon/0400_daemonset.yaml; "
    "NVIDIA/k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/daemon.go (Stop)",
)
def mps_servers_restart(change: Change) -> Impacts:
    """The MPS servers of a node pool restart or end, and programs that share its GPUs fail.

    The MPS server runs in a pod of the GPU Operator, with the image and settings of the device plugin, and an init
    container with the image and settings of the validator. If the pod ends, the server ends, and running CUDA programs
    lose their connection.
    """
    for operands in operand_changes(change):
        fields = operands.fields(MPS)
        if not fields or MPS in operands.started:
            continue
        verb = "end" if MPS in operands.deleted else "restart"
        for name in mps_pools(change):
            message = f"the MPS servers of its nodes {verb}, and running programs that use their GPUs fail"
            yield Raised(f"node pool {name}", message, operands.policy.after, fields[0].path)
