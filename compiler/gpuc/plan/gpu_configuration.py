"""The configurations of the device plugin and of the MIG manager, which nodes choose by a label.

Both programs read the configuration that the label names when they start and when the label changes. They do not notice
another content of the ConfigMap, and the GPU Operator does not restart them for it.

Source: NVIDIA/k8s-device-plugin v0.20.0 cmd/config-manager/main.go (continuouslySyncConfigChanges, updateConfigName);
NVIDIA/mig-parted v0.15.0 cmd/nvidia-mig-manager/main.go (ContinuouslySyncMigConfigChanges); NVIDIA/gpu-operator v26.7.0
controllers/object_controls.go (isDaemonsetSpecChanged compares the DaemonSet only)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.model.names import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair, PoolPair
from gpuc.plan.state import State

_PLUGIN_DATA = ("devicePlugin", "config", "data")
_MIG_FILE = ("migManager", "config", "data", "config.yaml")


def pools_without_configuration(change: Change) -> Iterator[tuple[PoolPair, str]]:
    """Yields NodePools whose running nodes name a configuration of the device plugin that the change removes."""
    values = _values(change)
    if values is None:
        return
    before, after = (data.keys() if isinstance(data, dict) else set() for data in values.values(*_PLUGIN_DATA))
    for pair in change.pools:
        name, _ = pair.labels(PLUGIN_CONFIG_LABEL)
        if name in before and name not in after:
            yield pair, str(name)


def pools_with_another_layout(change: Change) -> Iterator[PoolPair]:
    """Yields NodePools whose nodes keep the name of their MIG layout, while the content of the layout changes."""
    before, after = (_layouts(state, value) for state, value in _mig_files(change))
    for pair in change.pools:
        old, new = pair.labels(MIG_CONFIG_LABEL)
        if old is not None and old == new and old in before and before[old] != after.get(old):
            yield pair


def mps_pools(change: Change) -> list[str]:
    """Returns the node pools of the state before whose nodes share GPUs by MPS."""
    with_mps = (pair for pair in change.pools if (pair.labels(PLUGIN_CONFIG_LABEL)[0] or "").startswith("mps-"))
    return list(dict.fromkeys(pair.pool for pair in with_mps))


def _values(change: Change) -> Pair | None:
    return next((pair for pair in change.helm_values() if pair.name == "gpu-operator" and pair.is_changed), None)


def _mig_files(change: Change) -> Iterator[tuple[State, Any]]:
    values = _values(change)
    texts = values.values(*_MIG_FILE) if values else (None, None)
    yield from zip((change.before, change.after), texts, strict=True)


def _layouts(state: State, text: Any) -> dict[str, Any]:
    layouts = dig(document(state.objects, text), "mig-configs")
    return layouts if isinstance(layouts, dict) else {}
