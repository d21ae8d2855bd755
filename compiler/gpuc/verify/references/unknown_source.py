from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import ANYWHERE, POD, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject


@check("REF006", source="https://kubernetes.io/docs/concepts/configuration/configmap/")
def unknown_source(subject: Subject) -> Iterator[ObjectFinding]:
    """Pods need a ConfigMap, Secret, claim, account or class that does not exist.

    The pods are refused or stay in ContainerCreating; of a gang that holds its GPUs, all wait.
    """
    return subject.unresolved(unknown_source.rule)


_FAULT = unknown_source.rule
ROWS = (
    Reference(POD, "spec.serviceAccountName", "ServiceAccount", _FAULT),
    Reference(POD, "spec.imagePullSecrets[].name", "Secret", _FAULT),
    Reference(POD, "spec.runtimeClassName", "node.k8s.io/RuntimeClass", _FAULT),
    Reference(POD, "spec.volumes[].configMap.name", "ConfigMap", _FAULT),
    Reference(POD, "spec.volumes[].secret.secretName", "Secret", _FAULT),
    Reference(POD, "spec.volumes[].projected.sources[].configMap.name", "ConfigMap", _FAULT),
    Reference(POD, "spec.volumes[].projected.sources[].secret.name", "Secret", _FAULT),
    Reference(POD, "spec.volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim", _FAULT),
    Reference(POD, "spec.resourceClaims[].resourceClaimName", "resource.k8s.io/ResourceClaim", _FAULT),
    Reference(
        POD,
        "spec.resourceClaims[].resourceClaimTemplateName",
        "resource.k8s.io/ResourceClaimTemplate",
        _FAULT,
    ),
    *(
        Reference(POD, f"spec.{containers}[].{path}", target, _FAULT)
        for containers in ("containers", "initContainers")
        for path, target in (
            ("envFrom[].configMapRef.name", "ConfigMap"),
            ("envFrom[].secretRef.name", "Secret"),
            ("env[].valueFrom.configMapKeyRef.name", "ConfigMap"),
            ("env[].valueFrom.secretKeyRef.name", "Secret"),
        )
    ),
    Reference("PersistentVolumeClaim", "spec.storageClassName", "storage.k8s.io/StorageClass", _FAULT),
    Reference("nvidia.com/ClusterPolicy", "spec.devicePlugin.config.name", "ConfigMap", _FAULT, ANYWHERE),
    Reference("nvidia.com/ClusterPolicy", "spec.migManager.config.name", "ConfigMap", _FAULT, ANYWHERE),
    Reference("nvidia.com/ClusterPolicy", "spec.dcgmExporter.config.name", "ConfigMap", _FAULT, ANYWHERE),
)
"""Every place at which an object names one."""
