"""The programs of a component: what happens while they restart, and which Helm values restart them.

Source: kueue v0.19.2 charts/kueue/templates/manager/manager.yaml (config-checksum), charts/kueue/templates/webhook;
karpenter-provider-aws v1.14.1 charts/karpenter/templates/deployment.yaml; gatekeeper v3.23.0
charts/gatekeeper/templates/gatekeeper-validating-webhook-configuration-validatingwebhookconfiguration.yaml;
NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates: operator.yaml, plugin_config.yaml,
dcgm_exporter_config.yaml; aws/eks-charts v0.0.242 stable/aws-efa-k8s-device-plugin/values.yaml (updateStrategy)
"""

from __future__ import annotations

from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.difference import FieldChange

_OPERATOR_VALUES = ("operator", "nfd", "node-feature-discovery")
"""The values of the GPU Operator that are in pods. The others are in ConfigMaps and in the ClusterPolicy."""
_EFFECTS = {
    "efa": "the device plugin of EFA restarts on one node after the other; pods that run keep their devices",
    "gpu-operator": "pods that run keep their GPUs",
    "karpenter": "until a new replica leads, Karpenter starts and replaces no nodes; nodes that run stay",
}


def restarting_values(pair: Pair) -> list[FieldChange]:
    """Returns the changed Helm values with which the programs of a component restart."""
    if not pair.is_changed:
        return []
    if pair.name != "gpu-operator":
        return list(pair.fields)
    return [field for field in pair.fields if field.path[0] in _OPERATOR_VALUES]


def restart_effect(change: Change, component: str) -> str:
    """Returns what happens while the programs of a component restart; an empty string for an unknown component."""
    values = next((one.body for one in change.after.values if one.name == component), {})
    match component:
        case "gatekeeper" if dig(values, "validatingWebhookFailurePolicy") == "Fail":
            return "while no replica answers, the API server refuses requests"
        case "gatekeeper":
            return "while no replica answers, the API server accepts requests without the policies"
        case "kueue":
            replicas = dig(values, "controllerManager", "replicas")
            refused = (
                "" if isinstance(replicas, int) and replicas > 1 else "; the API server refuses new jobs until then"
            )
            return f"until a new replica leads, Kueue admits no workload; workloads that run continue{refused}"
    return _EFFECTS.get(component, "")
