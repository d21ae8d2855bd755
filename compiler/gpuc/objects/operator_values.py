"""What the GPU operator's chart makes of its values: ConfigMaps, and a ClusterPolicy unless that is switched off.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates: clusterpolicy.yaml, plugin_config.yaml,
mig_config.yaml, dcgm_exporter_config.yaml
"""

from __future__ import annotations

from typing import Any, Final

from gpuc.objects.object_set import ObjectSet, dig, pairs

CHART: Final = "gpu-operator"
_PARTS = ("devicePlugin", "migManager", "dcgmExporter")
"""The operands whose ConfigMap the chart makes from `config` of their values."""


def policy_values(tree: ObjectSet) -> Any:
    """The values that the chart renders a ClusterPolicy from; None where it renders none, or is not in the tree."""
    values = tree.values.get(CHART)
    if not isinstance(values, dict) or dig(values, "clusterPolicy", "deployCR") is False:
        return None
    return values


def config_maps(tree: ObjectSet) -> dict[str, tuple[str, Any]]:
    """The ConfigMaps that the chart makes: the operand in whose values they are, and their data, by name."""
    found: dict[str, tuple[str, Any]] = {}
    for part in _PARTS:
        config = dig(tree.values, CHART, part, "config")
        name, data = dig(config, "name"), dig(config, "data")
        if dig(config, "create") is True and isinstance(name, str) and name and data:
            found[name] = (part, dict(pairs(data)))
    return found
