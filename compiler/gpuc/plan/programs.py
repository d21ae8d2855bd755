"""The programs of a component: what happens while they restart, and which Helm values restart them.

Source: kueue v0.19.2 charts/kueue/templates/manager/manager.yaml (config-checksum), charts/kueue/templates/webhook;
karpenter-provider-aws v1.14.1 charts/karpenter/templates/deployment.yaml; gatekeeper v3.23.0
charts/gatekeeper/templates: gatekeeper-controller-manager-deployment.yaml, gatekeeper-audit-deployment.yaml,
gatekeeper-validating-webhook-configuration-validatingwebhookconfiguration.yaml; NVIDIA/gpu-operator v26.7.0
deployments/gpu-operator: templates/operator.yaml, templates/plugin_config.yaml, templates/dcgm_exporter_config.yaml,
charts/node-feature-discovery/templates; aws/eks-charts v0.0.242
stable/aws-efa-k8s-device-plugin/templates/daemonset.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.difference import FieldChange

_IMAGE = ("image", "repository", "version")
_IN_PODS = {
    "gpu-operator": (
        "operator", "nfd.enabled", "node-feature-discovery", *(f"driver.manager.{key}" for key in _IMAGE),
        *(f"validator.{key}" for key in _IMAGE),
    ),
}  # fmt: skip
"""The values that are in pods, by component. The others are in ConfigMaps and in the ClusterPolicy."""
_WEBHOOK = (
    "Annotations", "CheckIgnoreFailurePolicy", "CustomRules", "ExemptNamespacesLabels", "FailurePolicy",
    "MatchConditions", "ObjectSelector", "ReinvocationPolicy", "Scope", "SubResources", "TimeoutSeconds", "URL",
)  # fmt: skip
_NOT_IN_PODS = {
    "efa": ("updateStrategy",),
    "gatekeeper": (
        *(f"{kind}Webhook{field}" for kind in ("mutating", "validating") for field in _WEBHOOK),
        "audit.exportConnection", "commonAnnotations", "controllerManager.extraRules",
        "controllerManager.networkPolicy", "controllerManager.strategyRollingUpdate", "controllerManager.strategyType",
        "crds", "disableAudit", "disableValidatingWebhook", "enableConnectOperations", "enableDeleteOperations", "pdb",
        "podCountLimit", "postInstall", "postUpgrade", "preInstall", "preUninstall", "rbac", "replicas",
        "resourceQuota", "revisionHistoryLimit", "secretAnnotations", "service", "serviceAccount", "upgradeCRDs",
    ),
    "gpu-operator": (
        "node-feature-discovery.gc.replicaCount", "node-feature-discovery.master.replicaCount",
        "node-feature-discovery.postDeleteCleanup", "node-feature-discovery.prometheus",
        "node-feature-discovery.worker.updateStrategy", "operator.cleanupCRD", "operator.defaultGPUMode",
        "operator.metrics", "operator.runtimeClass", "operator.upgradeCRD", "operator.use_ocp_driver_toolkit",
    ),
    "karpenter": (
        "additionalAnnotations", "additionalClusterRoleRules", "additionalLabels", "podDisruptionBudget", "replicas",
        "revisionHistoryLimit", "service", "serviceAccount.annotations", "serviceMonitor", "strategy",
    ),
    "kueue": (
        "certManager", "controllerManager.podDisruptionBudget", "controllerManager.replicas",
        "controllerManager.strategy", "enableKueueViz", "enableMutatingAdmissionPolicy", "enablePrometheus",
        "enableVisibilityAPF", "enableVisibilityAuthReaderRoleBinding", "kueueViz", "metrics", "metricsService",
        "mutatingWebhook", "webhookService",
    ),
}  # fmt: skip
"""The values that are in no pod of the component, by component. KueueViz has its own pods."""
_AUDIT = (
    "audit", "auditChunkSize", "auditEventsInvolvedNamespace", "auditFromCache", "auditInterval", "auditMatchKindOnly",
    "auditPodAnnotations", "constraintViolationsLimit", "exportBackend", "externalCertInjection",
)  # fmt: skip
"""The values of Gatekeeper that are only in the audit pod, which answers no requests."""
_EFFECTS = {
    "efa": "the device plugin of EFA restarts on one node after the other; pods that run keep their devices",
    "gpu-operator": "pods that run keep their GPUs",
    "karpenter": "until a new replica leads, Karpenter starts and replaces no nodes; nodes that run stay",
}


def restarting_values(pair: Pair) -> list[FieldChange]:
    """Returns the changed Helm values with which the programs of a component restart."""
    if not pair.is_changed:
        return []
    known, others = _IN_PODS.get(pair.name), _NOT_IN_PODS.get(pair.name, ())
    return [
        field for field in pair.leaves if (known is None or _is_one_of(field, known)) and not _is_one_of(field, others)
    ]


def is_only_audit(component: str, fields: Sequence[FieldChange]) -> bool:
    """Returns whether values of Gatekeeper restart only the audit pod."""
    return component == "gatekeeper" and all(_is_one_of(field, _AUDIT) for field in fields)


def restart_effect(change: Change, component: str) -> str:
    """Returns what happens while the programs of a component restart; an empty string for an unknown component."""
    pair = change.values_of(component)
    values = pair.after.body if pair and pair.after else {}
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


def _is_one_of(field: FieldChange, values: Iterable[str]) -> bool:
    return any(field.is_below(*value.split(".")) for value in values)
