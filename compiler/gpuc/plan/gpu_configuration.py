"""The configurations of the device plugin and of the MIG manager, which nodes choose by a label.

Both programs read the configuration that the label names when they start and when the label changes. They do not notice
another content of the ConfigMap, and the GPU Operator does not restart them for it.

Source: NVIDIA/k8s-device-plugin v0.20.0 cmd/config-manager/main.go (continuouslySyncConfigChanges, updateConfigName);
NVIDIA/mig-parted v0.15.0 cmd/nvidia-mig-manager/main.go (ContinuouslySyncMigConfigChanges); NVIDIA/gpu-operator v26.7.0
controllers/object_controls.go (isDaemonsetSpecChanged compares the DaemonSet only)
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.model.names import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig, pairs
from gpuc.plan.change import Change, Pair
from gpuc.plan.drift import KARPENTER
from gpuc.plan.node_hash import TEMPLATE
from gpuc.plan.replacement import pool_name

_PLUGIN_DATA = ("devicePlugin", "config", "data")
_MIG_FILE = ("migManager", "config", "data", "config.yaml")


def pools_without_configuration(change: Change) -> Iterator[tuple[Pair, str]]:
    """Yields NodePools whose running nodes name a configuration of the device plugin that the change removes."""
    values = change.values_of("gpu-operator")
    if values is None or not values.is_changed:
        return
    before, after = (data.keys() if isinstance(data, dict) else set() for data in values.values(*_PLUGIN_DATA))
    for pair in change.pairs(KARPENTER, "NodePool"):
        name = pair.values(*TEMPLATE, "metadata", "labels", PLUGIN_CONFIG_LABEL)[0]
        if name in before and name not in after:
            yield pair, str(name)


def pools_with_another_layout(change: Change) -> Iterator[Pair]:
    """Yields NodePools whose nodes keep the name of their MIG layout, while the content of the layout changes."""
    values = change.values_of("gpu-operator")
    texts = values.values(*_MIG_FILE) if values and values.is_changed else (None, None)
    states = zip((change.before, change.after), texts, strict=True)
    before, after = (dict(pairs(dig(document(state.objects, text), "mig-configs"))) for state, text in states)
    for pair in change.pairs(KARPENTER, "NodePool"):
        names = pair.values(*TEMPLATE, "metadata", "labels", MIG_CONFIG_LABEL)
        if names[0] == names[1] and names[0] in before and before[names[0]] != after.get(names[0]):
            yield pair


def mps_pools(change: Change) -> list[str]:
    """Returns the node pools of the state before whose nodes share GPUs by MPS."""
    pools = {
        pool_name(pair): str(pair.values(*TEMPLATE, "metadata", "labels", PLUGIN_CONFIG_LABEL)[0])
        for pair in change.pairs(KARPENTER, "NodePool")
    }
    return [name for name, configuration in pools.items() if configuration.startswith("mps-")]
