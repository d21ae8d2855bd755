from __future__ import annotations

from gpuc.verify import Findings, check
from gpuc.verify.references.reference import ANY_NAMESPACE, POD, Reference
from gpuc.verify.subject import Subject


@check("REF006", source="https://kubernetes.io/docs/concepts/configuration/configmap/")
def unknown_source(subject: Subject) -> Findings:
    """A pod refers to a ConfigMap, Secret, claim, ServiceAccount or class that does not exist.

    The API server refuses the pod, or the pod stays in ContainerCreating. The other pods of the workload wait and
    occupy GPUs.
    """
    return subject.unresolved(unknown_source.rule)


ROWS = (
    Reference(POD, "spec.serviceAccountName", "ServiceAccount"),
    Reference(POD, "spec.imagePullSecrets[].name", "Secret"),
    Reference(POD, "spec.runtimeClassName", "node.k8s.io/RuntimeClass"),
    Reference(POD, "spec.volumes[].configMap.name", "ConfigMap"),
    Reference(POD, "spec.volumes[].secret.secretName", "Secret"),
    Reference(POD, "spec.volumes[].projected.sources[].configMap.name", "ConfigMap"),
    Reference(POD, "spec.volumes[].projected.sources[].secret.name", "Secret"),
    Reference(POD, "spec.volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim"),
    Reference(POD, "spec.resourceClaims[].resourceClaimName", "resource.k8s.io/ResourceClaim"),
    Reference(POD, "spec.resourceClaims[].resourceClaimTemplateName", "resource.k8s.io/ResourceClaimTemplate"),
    *(
        Reference(POD, f"spec.{containers}[].{path}", target)
        for containers in ("containers", "initContainers")
        for path, target in (
            ("envFrom[].configMapRef.name", "ConfigMap"),
            ("envFrom[].secretRef.name", "Secret"),
            ("env[].valueFrom.configMapKeyRef.name", "ConfigMap"),
            ("env[].valueFrom.secretKeyRef.name", "Secret"),
        )
    ),
    Reference("PersistentVolumeClaim", "spec.storageClassName", "storage.k8s.io/StorageClass"),
    Reference("nvidia.com/ClusterPolicy", "spec.devicePlugin.config.name", "ConfigMap", ANY_NAMESPACE),
    Reference("nvidia.com/ClusterPolicy", "spec.migManager.config.name", "ConfigMap", ANY_NAMESPACE),
    Reference("nvidia.com/ClusterPolicy", "spec.dcgmExporter.config.name", "ConfigMap", ANY_NAMESPACE),
)
