"""Tables of Kubernetes' built-in kinds, from the schemas in the package kubernetes-validate."""

from __future__ import annotations

import json
from pathlib import Path

from gpuc.catalog.schemas.deduplicate import Deduplicator
from gpuc.catalog.schemas.structural import Schema, strict, with_parts
from gpuc.kubernetes.resource_name import plural

VERSIONS = ("1.33", "1.34", "1.35", "1.36")
EMITTED: dict[str, tuple[str, ...]] = {
    "v1": ("ConfigMap", "LimitRange", "Namespace", "Pod", "ResourceQuota", "Service", "ServiceAccount"),
    "apps/v1": ("DaemonSet", "Deployment"),
    "batch/v1": ("Job",),
    "flowcontrol.apiserver.k8s.io/v1": ("FlowSchema",),
    "networking.k8s.io/v1": ("NetworkPolicy",),
    "policy/v1": ("PodDisruptionBudget",),
    "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
}
"""Kinds that gpuc writes, by apiVersion."""
OFTEN: dict[str, tuple[str, ...]] = {
    "v1": ("PersistentVolume", "PersistentVolumeClaim", "Secret"),
    "admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "apps/v1": ("ReplicaSet", "StatefulSet"),
    "autoscaling/v2": ("HorizontalPodAutoscaler",),
    "batch/v1": ("CronJob",),
    "networking.k8s.io/v1": ("Ingress", "IngressClass"),
    "node.k8s.io/v1": ("RuntimeClass",),
    "storage.k8s.io/v1": ("StorageClass",),
}  # fmt: skip
"""Other common kinds. Only `gpuc lint` reads their tables."""
_CLUSTER_SCOPED = {
    "Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "PersistentVolume", "IngressClass",
    "RuntimeClass", "StorageClass", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "FlowSchema",
}  # fmt: skip

_PROTOCOL = ["TCP", "UDP", "SCTP"]
_EFFECT = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
_PREEMPTION = ["PreemptLowerPriority", "Never"]
_SET_OPERATOR = ["In", "NotIn", "Exists", "DoesNotExist"]
_TRAFFIC = ["Cluster", "Local"]
_RBAC = ["", "rbac.authorization.k8s.io"]
_ENUMS: dict[str, list[str]] = {
    "Container.imagePullPolicy": ["Always", "IfNotPresent", "Never"],
    "ContainerPort.protocol": _PROTOCOL,
    "DaemonSetUpdateStrategy.type": ["OnDelete", "RollingUpdate"],
    "DeploymentStrategy.type": ["Recreate", "RollingUpdate"],
    "JobSpec.completionMode": ["NonIndexed", "Indexed"],
    "JobSpec.podReplacementPolicy": ["TerminatingOrFailed", "Failed"],
    "LabelSelectorRequirement.operator": _SET_OPERATOR,
    "LimitRangeItem.type": ["Container", "Pod", "PersistentVolumeClaim"],
    "NetworkPolicyPort.protocol": _PROTOCOL,
    "NetworkPolicySpec.policyTypes.[]": ["Ingress", "Egress"],
    "NodeSelectorRequirement.operator": [*_SET_OPERATOR, "Gt", "Lt"],
    "PodFailurePolicyRule.action": ["FailJob", "FailIndex", "Ignore", "Count"],
    "PodSpec.dnsPolicy": ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    "PodSpec.preemptionPolicy": _PREEMPTION,
    "PodSpec.restartPolicy": ["Always", "OnFailure", "Never"],
    "PriorityClass.preemptionPolicy": _PREEMPTION,
    "ResourceQuotaSpec.scopes.[]": [
        "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
        "Terminating",
    ],
    "RoleRef.apiGroup": _RBAC,
    "RoleRef.kind": ["Role", "ClusterRole"],
    "SeccompProfile.type": ["Localhost", "RuntimeDefault", "Unconfined"],
    "ServicePort.protocol": _PROTOCOL,
    "ServiceSpec.externalTrafficPolicy": _TRAFFIC,
    "ServiceSpec.internalTrafficPolicy": _TRAFFIC,
    "ServiceSpec.type": ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"],
    "Subject.kind": ["User", "Group", "ServiceAccount"],
    "Toleration.effect": _EFFECT,
    "Toleration.operator": ["Exists", "Equal"],
    "TopologySpreadConstraint.whenUnsatisfiable": ["DoNotSchedule", "ScheduleAnyway"],
}  # fmt: skip
"""Allowed values that Kubernetes validates in code. The published schemas list these values only in descriptions."""
_DEFAULTED = {"RoleRef": {"apiGroup"}}
"""Required fields for which the API server has a default: kubernetes v1.35.4 pkg/apis/rbac/v1/defaults.go."""
_PREFIX = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?"
_PATTERNS = {
    "ConfigMap.data": r"^[-._a-zA-Z0-9]{1,253}$",
    "LabelSelector.matchLabels": rf"^{_PREFIX}[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$",
}
"""Patterns for the keys of maps."""


def builtin_tables(folder: Path, chosen: dict[str, tuple[str, ...]]) -> Schema:
    """Returns one table of built-in kinds for all Kubernetes versions. Equal definitions are stored once.

    Args:
        folder: kubernetes-json-schema of the package, with v<version>.0-local-strict/_definitions.json.
        chosen: kinds by apiVersion.
    """
    deduplicator, numbers = Deduplicator(), {}
    for version in VERSIONS:
        path = folder / f"v{version}.0-local-strict" / "_definitions.json"
        resolver = _Resolver(json.loads(path.read_text(encoding="utf-8"))["$defs"])
        for api, kinds in chosen.items():
            for kind in kinds:
                numbers[version, api, kind] = deduplicator.add(strict(resolver.body(api, kind)), kind)
    table: Schema = {"kinds": {version: {} for version in VERSIONS}}
    for (version, api, kind), number in numbers.items():
        table["kinds"][version][f"{api}/{kind}"] = {
            "plural": plural(api.rpartition("/")[0], kind),
            "namespaced": kind not in _CLUSTER_SCOPED,
            "schema": deduplicator.expanded(number),
        }
    return {**table, "$defs": deduplicator.definitions}


class _Resolver:
    """Schemas of one Kubernetes version, with references replaced by the referenced schema."""

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions
        self._kinds = {
            (f"{served['group']}/{served['version']}".lstrip("/"), served["kind"]): name
            for name, schema in definitions.items()
            for served in schema.get("x-kubernetes-group-version-kind", [])
        }

    def body(self, api: str, kind: str) -> Schema:
        schema = self._definition(self._kinds[api, kind])
        dropped = {"apiVersion", "kind", "metadata", "status"}
        properties = {name: child for name, child in schema["properties"].items() if name not in dropped}
        return {**schema, "properties": properties}

    def _definition(self, name: str) -> Schema:
        short = name.rpartition(".")[2]
        if short == "Quantity":
            return {"type": "string", "format": "quantity"}
        if short == "IntOrString":
            return {"x-kubernetes-int-or-string": True}
        return self._refined(short, self._resolved(self._definitions[name]))

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            return self._definition(schema["$ref"].rpartition("/")[2])
        return with_parts(schema, lambda part, _: self._resolved(part))

    @staticmethod
    def _refined(short: str, schema: Schema) -> Schema:
        for field, values in _ENUMS.items():
            owner, name, *rest = field.split(".")
            if owner == short:
                target = schema["properties"][name]
                (target["items"] if rest else target)["enum"] = values
        for field, pattern in _PATTERNS.items():
            owner, name = field.split(".")
            if owner == short:
                schema["properties"][name]["propertyNames"] = {"pattern": pattern}
        if short in _DEFAULTED:
            schema["required"] = [name for name in schema["required"] if name not in _DEFAULTED[short]]
        return schema
