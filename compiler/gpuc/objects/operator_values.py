"""The ClusterPolicy and the ConfigMaps that the GPU operator's chart renders from the Helm values.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates: clusterpolicy.yaml, plugin_config.yaml,
mig_config.yaml, dcgm_exporter_config.yaml
"""

from typing import Any, Final

from gpuc.objects.object_set import ObjectSet, dig, pairs

CHART: Final = "gpu-operator"
_OPERANDS = ("devicePlugin", "migManager", "dcgmExporter")
"""The keys of the operands for which the chart renders a ConfigMap from `config`."""


def policy_values(objects: ObjectSet) -> Any:
    """Returns the chart's values for the ClusterPolicy; None if the chart renders no ClusterPolicy."""
    values = objects.values.get(CHART)
    if not isinstance(values, dict) or dig(values, "clusterPolicy", "deployCR") is False:
        return None
    return values


def config_maps(objects: ObjectSet) -> dict[str, tuple[str, Any]]:
    """Returns the operand and the data of every ConfigMap that the chart renders, by the name of the ConfigMap."""
    rendered: dict[str, tuple[str, Any]] = {}
    for operand in _OPERANDS:
        config = dig(objects.values, CHART, operand, "config")
        name, data = dig(config, "name"), dig(config, "data")
        if dig(config, "create") is True and isinstance(name, str) and name and data:
            rendered[name] = (operand, dict(pairs(data)))
    return rendered
