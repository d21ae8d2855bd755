from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.operands import DEVICE_PLUGIN, MIG_MANAGER, MPS, OPERANDS, operand_changes

_SHOWN = 3


@impact(
    "IMP140",
    Level.RESTRICTS,
    source="NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (DaemonSet, applyUpdateStrategyConfig); "
    "NVIDIA/mig-parted v0.15.0 pkg/mig/reconfigure/reconfigure.go (isConfigAlreadyApplied)",
)
def agents_restart(change: Change) -> Impacts:
    """The GPU Operator restarts, starts or deletes its operands on the GPU nodes.

    While the device plugin of a node restarts, no new pod gets GPUs there. Running pods keep their GPUs, unless they
    share them by MPS. The driver does not restart: its DaemonSet has the update strategy OnDelete.
    """
    for operands in operand_changes(change):
        restarted, started, deleted = (
            [name for name in names if name != MPS]
            for names in (operands.restarted, operands.started, operands.deleted)
        )
        fields = operands.fields(*(name for name in OPERANDS if name != MPS))
        if not fields:
            continue
        limit = operands.policy.values("spec", "daemonsets", "rollingUpdate", "maxUnavailable")[1]
        pace = f", {limit} at a time" if limit else ""
        actions = {
            f"deletes {_names(deleted)} from all GPU nodes": deleted,
            f"starts {_names(started)} on all GPU nodes": started,
            f"restarts {_names(restarted)} on all GPU nodes{pace}": restarted,
        }
        text = " and ".join(action for action, names in actions.items() if names)
        sections = ", ".join(dict.fromkeys(str(field.path[1]) for field in fields))
        message = f"the GPU Operator {text}; settings of {sections} change"
        details = {
            f"restarts {', '.join(restarted)}": len(restarted) > _SHOWN,
            "no new pod gets GPUs on a node while its device plugin restarts": DEVICE_PLUGIN in restarted,
            "nodes whose image has no device plugin offer no GPUs to new pods": DEVICE_PLUGIN in deleted,
            "a MIG manager that restarts compares the layout of its node, and applies it only if it differs": (
                MIG_MANAGER in restarted
            ),
        }
        sentences = tuple(sentence for sentence, is_true in details.items() if is_true)
        yield Raised("component gpu-operator", message, operands.policy.after, fields[0].path, sentences)


def _names(operands: list[str]) -> str:
    return ", ".join(operands) if len(operands) <= _SHOWN else f"{len(operands)} operands"
