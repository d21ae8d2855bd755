"""Objects that the GPU operator's chart renders from its values: ConfigMaps, and a ClusterPolicy unless disabled.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates: clusterpolicy.yaml, plugin_config.yaml,
mig_config.yaml, dcgm_exporter_config.yaml
"""

from __future__ import annotations

from typing import Any, Final

from gpuc.objects.object_set import ObjectSet, dig, pairs

CHART: Final = "gpu-operator"
_PARTS = ("devicePlugin", "migManager", "dcgmExporter")
"""The operands whose ConfigMap the chart renders from the `config` of their values."""


def policy_values(objects: ObjectSet) -> Any:
    """Returns the values for the ClusterPolicy; None if the chart is missing or renders no ClusterPolicy."""
    values = objects.values.get(CHART)
    if not isinstance(values, dict) or dig(values, "clusterPolicy", "deployCR") is False:
        return None
    return values


def config_maps(objects: ObjectSet) -> dict[str, tuple[str, Any]]:
    """Returns the ConfigMaps that the chart renders, by name: their operand and their data."""
    found: dict[str, tuple[str, Any]] = {}
    for part in _PARTS:
        config = dig(objects.values, CHART, part, "config")
        name, data = dig(config, "name"), dig(config, "data")
        if dig(config, "create") is True and isinstance(name, str) and name and data:
            found[name] = (part, dict(pairs(data)))
    return found
