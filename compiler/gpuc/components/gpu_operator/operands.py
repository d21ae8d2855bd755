"""Predicts what a change does to operands of the GPU Operator, and to configurations that nodes select by a label.

The operator creates a DaemonSet for each operand, for example for the device plugin. The pods restart if their template
changes. The operator deletes the DaemonSet of a disabled operand. This module leaves out operands for virtual machines,
because gpuc enables none, and the driver, because its DaemonSet has the update strategy OnDelete.

The device plugin and the MIG manager read the configuration that the label names when they start and when the label
changes. They do not notice another content of the ConfigMap, and the GPU Operator does not restart them for it.

Source: NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (DaemonSet, preProcessDaemonSet, the functions
Transform*, isDaemonsetSpecChanged compares the DaemonSet only), controllers/state_manager.go (isStateEnabled);
NVIDIA/k8s-device-plugin v0.20.0 cmd/config-manager/main.go (continuouslySyncConfigChanges, updateConfigName);
NVIDIA/mig-parted v0.15.0 cmd/nvidia-mig-manager/main.go (ContinuouslySyncMigConfigChanges)
"""

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.model.names import PLUGIN_CONFIG_LABEL
from gpuc.parts.folders import table_beside
from gpuc.plan.change import Change, Pair, PoolPair
from gpuc.plan.differences import FieldChange

TOOLKIT, DEVICE_PLUGIN, MPS = "the container toolkit", "the device plugin", "the MPS control daemon"
MIG_MANAGER = "the MIG manager"
_TABLE = table_beside(__file__)
OPERANDS: dict[str, str] = _TABLE["sections"]
"""The section of the ClusterPolicy whose field `enabled` is for the operand. The validator is always enabled."""
_DISABLED = ("the node status exporter",)
"""The operands that are not enabled by default."""
_READERS: dict[Path, list[str]] = {tuple(path.split(".")): names for path, names in _TABLE["readers"].items()}
"""The operands whose pods depend on a field, by the path of the field below spec. The longest matching path counts."""


class OperandChange(Struct, frozen=True, dict=True):
    """What a changed ClusterPolicy does to the operands of the GPU Operator, such as the device plugin."""

    policy: Pair
    """The ClusterPolicy, which is in both states."""

    @cached_property
    def restarted(self) -> dict[str, list[FieldChange]]:
        """The changed fields that restart an operand, by operand; empty if the update strategy is OnDelete."""
        if self.policy.values("spec", "daemonsets", "updateStrategy")[1] == "OnDelete":
            return {}
        found: dict[str, list[FieldChange]] = {}
        for field in self.policy.leaves:
            below = field.path[1:]
            known = [below[:length] for length in range(1, len(below) + 1) if below[:length] in _READERS]
            for operand in _READERS[known[-1]] if known else ():
                if self._is_enabled(operand) == (True, True):
                    found.setdefault(operand, []).append(field)
        return {operand: found[operand] for operand in OPERANDS if operand in found}

    @cached_property
    def started(self) -> list[str]:
        """The operands that the change enables."""
        return [operand for operand in OPERANDS if self._is_enabled(operand) == (False, True)]

    @cached_property
    def deleted(self) -> list[str]:
        """The operands that the change disables."""
        return [operand for operand in OPERANDS if self._is_enabled(operand) == (True, False)]

    def fields(self, *operands: str) -> list[FieldChange]:
        """Returns the changed fields that restart, start or delete one of the operands, in their order."""
        switched = [operand for operand in (*self.started, *self.deleted) if operand in operands]
        switches = {("spec", OPERANDS[operand], "enabled") for operand in switched}
        restarting = [field for operand in operands for field in self.restarted.get(operand, ())]
        return [field for field in self.policy.leaves if field.path in switches or field in restarting]

    def _is_enabled(self, operand: str) -> tuple[bool, bool]:
        """Returns whether the operand is enabled before and after the change."""
        default = operand not in _DISABLED
        values = self.policy.values("spec", OPERANDS[operand], "enabled")
        before, after = (default if value is None else value is True for value in values)
        return before, after


def operand_changes(change: Change) -> Iterator[OperandChange]:
    """Yields each ClusterPolicy that the change modifies."""
    return (OperandChange(pair) for pair in change.pairs("nvidia.com", "ClusterPolicy") if pair.is_changed)


_PLUGIN_DATA = ("devicePlugin", "config", "data")


def pools_without_configuration(change: Change) -> Iterator[tuple[PoolPair, str]]:
    """Yields each NodePool whose nodes use a removed configuration of the device plugin, and this configuration."""
    values = change.values_of("gpu-operator")
    if values is None or not values.is_changed:
        return
    before, after = (data.keys() if isinstance(data, dict) else set() for data in values.values(*_PLUGIN_DATA))
    for pair in change.pools:
        name, _ = pair.labels(PLUGIN_CONFIG_LABEL)
        if name in before and name not in after:
            yield pair, str(name)


def mps_pools(change: Change) -> list[str]:
    """Returns the names of the node pools that use MPS before the change."""
    with_mps = (pair for pair in change.pools if (pair.labels(PLUGIN_CONFIG_LABEL)[0] or "").startswith("mps-"))
    return list(dict.fromkeys(pair.element for pair in with_mps))
