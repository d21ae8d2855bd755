"""Predicts the ClusterPolicy and the ConfigMaps that the chart of the GPU Operator renders from Helm values.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates: clusterpolicy.yaml, plugin_config.yaml,
mig_config.yaml, dcgm_exporter_config.yaml
"""

from typing import Any, Final

from gpuc.objects.object_set import ObjectSet, dig, pairs

CHART: Final = "gpu-operator"
_OPERANDS = ("devicePlugin", "migManager", "dcgmExporter")
"""The keys of the operands for which the chart renders a ConfigMap from `config`."""


def policy_values(objects: ObjectSet) -> Any:
    """Returns the Helm values from which the chart renders a ClusterPolicy; None if the chart renders none."""
    values = objects.values.get(CHART)
    if not isinstance(values, dict) or dig(values, "clusterPolicy", "deployCR") is False:
        return None
    return values


def config_maps(objects: ObjectSet) -> dict[str, tuple[str, Any]]:
    """Returns the ConfigMaps that the chart renders, by name: the operand that reads each ConfigMap, and its data."""
    rendered: dict[str, tuple[str, Any]] = {}
    for operand in _OPERANDS:
        config = dig(objects.values, CHART, operand, "config")
        name, data = dig(config, "name"), dig(config, "data")
        if dig(config, "create") is True and isinstance(name, str) and name and data:
            rendered[name] = (operand, dict(pairs(data)))
    return rendered
