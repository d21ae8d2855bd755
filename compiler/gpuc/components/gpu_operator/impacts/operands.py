"""Impacts of a change on the operands of the GPU Operator, such as the device plugin, and on their configurations."""

from gpuc.cluster.pool_fields import LABELS
from gpuc.components.gpu_operator.operands import (
    DEVICE_PLUGIN,
    MIG_MANAGER,
    MPS,
    OPERANDS,
    mps_pools,
    operand_changes,
    pools_without_configuration,
)
from gpuc.model.names import PLUGIN_CONFIG_LABEL
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import nodes_of, nodes_text


@impact("IMP123", Level.RESTRICTS)
def configuration_removed(change: Change) -> Impacts:
    """Running nodes name a configuration of the device plugin that no longer exists."""
    for rows in grouped(pools_without_configuration(change), lambda row: row[0].element).values():
        pair, configuration = rows[0]
        message = (
            f"configuration {configuration} of {nodes_text(nodes_of([pair]))} no longer exists; a node whose "
            "device plugin restarts offers no GPUs to new pods"
        )
        yield pair.raised(message, (*LABELS, PLUGIN_CONFIG_LABEL))


_SHOWN = 3


@impact("IMP140", Level.RESTRICTS)
def agents_restart(change: Change) -> Impacts:
    """The GPU Operator restarts, starts or deletes its operands on the GPU nodes."""
    for operands in operand_changes(change):
        fields = operands.fields(*(name for name in OPERANDS if name != MPS))
        if not fields:
            continue
        restarted, started, deleted = (
            [name for name in names if name != MPS]
            for names in (operands.restarted, operands.started, operands.deleted)
        )
        limit = operands.policy.values("spec", "daemonsets", "rollingUpdate", "maxUnavailable")[1]
        pace = f", {limit} at a time" if limit else ""
        actions = {
            f"deletes {_operands_text(deleted)} from all GPU nodes": deleted,
            f"starts {_operands_text(started)} on all GPU nodes": started,
            f"restarts {_operands_text(restarted)} on all GPU nodes{pace}": restarted,
        }
        text = " and ".join(action for action, names in actions.items() if names)
        sections = ", ".join(dict.fromkeys(str(field.path[1]) for field in fields))
        details = {
            f"restarts {', '.join(restarted)}": len(restarted) > _SHOWN,
            "no new pod gets GPUs on a node while its device plugin restarts": DEVICE_PLUGIN in restarted,
            "nodes whose image has no device plugin offer no GPUs to new pods": DEVICE_PLUGIN in deleted,
            "a MIG manager that restarts compares the layout of its node, and applies it only if it differs": (
                MIG_MANAGER in restarted
            ),
        }
        sentences = (sentence for sentence, is_true in details.items() if is_true)
        message = f"the GPU Operator {text}; settings of {sections} change"
        yield operands.policy.raised(message, fields[0].path, sentences)


def _operands_text(operands: list[str]) -> str:
    return ", ".join(operands) if len(operands) <= _SHOWN else f"{len(operands)} operands"


@impact("IMP141", Level.DISRUPTS)
def mps_servers_restart(change: Change) -> Impacts:
    """The MPS servers of a node pool restart or end, and programs that share its GPUs fail."""
    for operands in operand_changes(change):
        fields = operands.fields(MPS)
        if not fields or MPS in operands.started:
            continue
        verb = "end" if MPS in operands.deleted else "restart"
        for name in mps_pools(change):
            message = f"the MPS servers of its nodes {verb}, and running programs that use their GPUs fail"
            yield Raised(f"node pool {name}", message, operands.policy.after, fields[0].path)
