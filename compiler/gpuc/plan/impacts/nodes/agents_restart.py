from gpuc.plan.change import Change
from gpuc.plan.gpu_configuration import restarting_settings
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP140",
    Level.RESTRICTS,
    source="NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (applyUpdateStrategyConfig)",
)
def agents_restart(change: Change) -> Impacts:
    """The GPU Operator restarts its operands on the GPU nodes.

    While the device plugin of a node restarts, no new pod gets GPUs there. Running pods keep their GPUs, unless they
    share them by MPS. The driver does not restart: its DaemonSet has the update strategy OnDelete.
    """
    for pair in change.pairs("nvidia.com", "ClusterPolicy"):
        fields = restarting_settings(pair)
        if fields:
            names = ", ".join(dict.fromkeys(str(field.path[1]) for field in fields))
            limit = pair.values("spec", "daemonsets", "rollingUpdate", "maxUnavailable")[1]
            pace = f", {limit} at a time" if limit else ""
            message = f"the GPU Operator restarts operands on all GPU nodes{pace}; settings of {names} change"
            details = (
                "no new pod gets GPUs on a node while its device plugin restarts",
                "a MIG manager that restarts applies the layout of its node again",
            )
            yield Raised("component gpu-operator", message, pair.after, fields[0].path, details)
