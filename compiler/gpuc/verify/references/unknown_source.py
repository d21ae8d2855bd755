from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import ANY_NAMESPACE, POD, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject


@check("REF006", source="https://kubernetes.io/docs/concepts/configuration/configmap/")
def unknown_source(subject: Subject) -> Iterator[ObjectFinding]:
    """A pod refers to a ConfigMap, Secret, claim, ServiceAccount or class that does not exist.

    The API server refuses the pod, or the pod stays in ContainerCreating. The other pods of the workload wait and
    occupy GPUs.
    """
    return subject.unresolved(unknown_source.rule)


_RULE = unknown_source.rule
ROWS = (
    Reference(POD, "spec.serviceAccountName", "ServiceAccount", _RULE),
    Reference(POD, "spec.imagePullSecrets[].name", "Secret", _RULE),
    Reference(POD, "spec.runtimeClassName", "node.k8s.io/RuntimeClass", _RULE),
    Reference(POD, "spec.volumes[].configMap.name", "ConfigMap", _RULE),
    Reference(POD, "spec.volumes[].secret.secretName", "Secret", _RULE),
    Reference(POD, "spec.volumes[].projected.sources[].configMap.name", "ConfigMap", _RULE),
    Reference(POD, "spec.volumes[].projected.sources[].secret.name", "Secret", _RULE),
    Reference(POD, "spec.volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim", _RULE),
    Reference(POD, "spec.resourceClaims[].resourceClaimName", "resource.k8s.io/ResourceClaim", _RULE),
    Reference(
        POD,
        "spec.resourceClaims[].resourceClaimTemplateName",
        "resource.k8s.io/ResourceClaimTemplate",
        _RULE,
    ),
    *(
        Reference(POD, f"spec.{containers}[].{path}", target, _RULE)
        for containers in ("containers", "initContainers")
        for path, target in (
            ("envFrom[].configMapRef.name", "ConfigMap"),
            ("envFrom[].secretRef.name", "Secret"),
            ("env[].valueFrom.configMapKeyRef.name", "ConfigMap"),
            ("env[].valueFrom.secretKeyRef.name", "Secret"),
        )
    ),
    Reference("PersistentVolumeClaim", "spec.storageClassName", "storage.k8s.io/StorageClass", _RULE),
    Reference("nvidia.com/ClusterPolicy", "spec.devicePlugin.config.name", "ConfigMap", _RULE, ANY_NAMESPACE),
    Reference("nvidia.com/ClusterPolicy", "spec.migManager.config.name", "ConfigMap", _RULE, ANY_NAMESPACE),
    Reference("nvidia.com/ClusterPolicy", "spec.dcgmExporter.config.name", "ConfigMap", _RULE, ANY_NAMESPACE),
)
"""The fields of the references that the check covers."""
