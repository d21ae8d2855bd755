"""Fields in which objects refer to other objects by name, and the checks that the named objects exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.contract import Needs, When
from gpuc.diagnostics.finding import Path, Rule
from gpuc.kubernetes.api_groups import CONSTRAINTS, RBAC
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import by_first, group
from gpuc.objects.paths import Pattern, matching_values, pattern
from gpuc.objects.pods import CONFIG_MAPS
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.verify import CHECKS, Findings, rule_of
from gpuc.verify.references.reference import (
    ANY,
    ANY_NAMESPACE,
    LOCAL_QUEUE,
    POD,
    PRIORITY_CLASS,
    TYPED,
    ObjectReference,
    Reference,
    check_reference,
    object_reference,
)
from gpuc.verify.subject import Subject

if TYPE_CHECKING:
    from gpuc.cluster.index import Index

_QUEUE, _PRIORITY = f"{{{GROUP}/queue-name}}", f"{{{GROUP}/priority-class}}"
_LABELLED = [
    (kind.name, ".".join(path))
    for kind in workload_kinds()
    for path in kind.queueing.labels
    if ".".join(path[:-2]) not in ("", *kind.templates)
]
"""Kinds with the labels of Kueue neither at the object nor at its pods, and the paths of these labels."""
_CLUSTER_QUEUE, _FLAVOR, _CHECK = f"{GROUP}/ClusterQueue", f"{GROUP}/ResourceFlavor", f"{GROUP}/AdmissionCheck"
_PROJECT, _NODE_POOL = "argoproj.io/AppProject", "karpenter.sh/NodePool"
INACTIVE_QUEUE = rule_of("REF001")
UNKNOWN_LOCAL_QUEUE = rule_of("REF002")
UNKNOWN_NODE_CLASS = rule_of("REF004")
UNKNOWN_PRIORITY = rule_of("REF003")
UNKNOWN_PROJECT = rule_of("REF009")
UNKNOWN_ROLE = rule_of("REF005")
UNKNOWN_SOURCE = rule_of("REF006")
UNKNOWN_TARGET = rule_of("REF010")
UNKNOWN_IN_PARAMETER = rule_of("PLC005")
UNKNOWN_TEMPLATE = rule_of("REF008")
_ROWS: dict[Rule, tuple[Reference, ...]] = {
    INACTIVE_QUEUE: (
        Reference(LOCAL_QUEUE, "spec.clusterQueue", _CLUSTER_QUEUE),
        Reference(_CLUSTER_QUEUE, "spec.resourceGroups[].flavors[].name", _FLAVOR),
        Reference(f"{GROUP}/Cohort", "spec.resourceGroups[].flavors[].name", _FLAVOR),
        Reference(_CLUSTER_QUEUE, "spec.admissionChecks[]", _CHECK),
        Reference(_CLUSTER_QUEUE, "spec.admissionChecksStrategy.admissionChecks[].name", _CHECK),
        Reference(_CLUSTER_QUEUE, "spec.admissionChecksStrategy.admissionChecks[].onFlavors[]", _FLAVOR),
        Reference(_FLAVOR, "spec.topologyName", f"{GROUP}/Topology"),
        Reference(_CHECK, "spec.parameters", TYPED),
        Reference(f"{GROUP}/MultiKueueConfig", "spec.clusters[]", f"{GROUP}/MultiKueueCluster"),
    ),
    UNKNOWN_LOCAL_QUEUE: (
        Reference(ANY, f"metadata.labels.{_QUEUE}", LOCAL_QUEUE),
        Reference(POD, f"metadata.labels.{_QUEUE}", LOCAL_QUEUE),
        *(Reference(kind, f"{labels}.{_QUEUE}", LOCAL_QUEUE) for kind, labels in _LABELLED),
    ),
    UNKNOWN_NODE_CLASS: (
        Reference(_NODE_POOL, "spec.template.spec.nodeClassRef", TYPED),
        Reference(
            "karpenter.sh/NodeOverlay",
            "spec.requirements[].values[]",
            _NODE_POOL,
            when=("key", "karpenter.sh/nodepool"),
        ),
    ),
    UNKNOWN_PRIORITY: (
        Reference(ANY, f"metadata.labels.{_PRIORITY}", PRIORITY_CLASS),
        Reference(POD, f"metadata.labels.{_PRIORITY}", PRIORITY_CLASS),
        *(Reference(kind, f"{labels}.{_PRIORITY}", PRIORITY_CLASS) for kind, labels in _LABELLED),
        Reference(POD, "spec.priorityClassName", "scheduling.k8s.io/PriorityClass"),
    ),
    UNKNOWN_PROJECT: (
        Reference("argoproj.io/Application", "spec.project", _PROJECT, ANY_NAMESPACE),
        Reference("argoproj.io/ApplicationSet", "spec.template.spec.project", _PROJECT, ANY_NAMESPACE),
    ),
    UNKNOWN_ROLE: (
        Reference(f"{RBAC}/RoleBinding", "roleRef", TYPED),
        Reference(f"{RBAC}/ClusterRoleBinding", "roleRef", TYPED),
        *(
            Reference(f"{RBAC}/{kind}", "subjects[].name", "ServiceAccount", "namespace", ("kind", "ServiceAccount"))
            for kind in ("RoleBinding", "ClusterRoleBinding")
        ),
    ),
    UNKNOWN_SOURCE: (
        Reference(POD, "spec.serviceAccountName", "ServiceAccount"),
        Reference(POD, "spec.imagePullSecrets[].name", "Secret"),
        Reference(POD, "spec.runtimeClassName", "node.k8s.io/RuntimeClass"),
        *(Reference(POD, path, "ConfigMap") for path in CONFIG_MAPS),
        Reference(POD, "spec.volumes[].secret.secretName", "Secret"),
        Reference(POD, "spec.volumes[].projected.sources[].secret.name", "Secret"),
        Reference(POD, "spec.volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim"),
        Reference(POD, "spec.resourceClaims[].resourceClaimName", "resource.k8s.io/ResourceClaim"),
        Reference(POD, "spec.resourceClaims[].resourceClaimTemplateName", "resource.k8s.io/ResourceClaimTemplate"),
        *(
            Reference(POD, f"spec.{containers}[].{field}.name", "Secret")
            for containers in ("containers", "initContainers")
            for field in ("envFrom[].secretRef", "env[].valueFrom.secretKeyRef")
        ),
        Reference("PersistentVolumeClaim", "spec.storageClassName", "storage.k8s.io/StorageClass"),
        Reference("nvidia.com/ClusterPolicy", "spec.devicePlugin.config.name", "ConfigMap", ANY_NAMESPACE),
        Reference("nvidia.com/ClusterPolicy", "spec.migManager.config.name", "ConfigMap", ANY_NAMESPACE),
        Reference("nvidia.com/ClusterPolicy", "spec.dcgmExporter.config.name", "ConfigMap", ANY_NAMESPACE),
    ),
    UNKNOWN_IN_PARAMETER: (
        Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.queues[].queues[]", LOCAL_QUEUE, ANY_NAMESPACE),
        Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.priorities[]", PRIORITY_CLASS),
        Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.pools[].pool", _NODE_POOL),
        Reference(f"{CONSTRAINTS}/GpucGpuQuota", "spec.parameters.pools[].pool", _NODE_POOL),
        Reference(f"{CONSTRAINTS}/GpucMpsClients", "spec.parameters.pools[].pool", _NODE_POOL),
        Reference(f"{CONSTRAINTS}/GpucGpuQueue", "spec.parameters.gpuQueues[]", LOCAL_QUEUE, ANY_NAMESPACE),
        Reference(f"{CONSTRAINTS}/GpucGpuQueue", "spec.parameters.cpuQueues[]", LOCAL_QUEUE, ANY_NAMESPACE),
        Reference(f"{CONSTRAINTS}/GpucPoolSelector", "spec.parameters.pools[]", _NODE_POOL),
        Reference(f"{CONSTRAINTS}/GpucPoolSelector", "spec.parameters.choices[].pools[]", _NODE_POOL),
        Reference(f"{CONSTRAINTS}/GpucGpuLimits", "spec.parameters.limits[].pool", _NODE_POOL),
        Reference(f"{CONSTRAINTS}/GpucNcclProfile", "spec.parameters.profiles[].configMap", "ConfigMap", "namespace"),
    ),
    UNKNOWN_TARGET: (
        Reference("autoscaling/HorizontalPodAutoscaler", "spec.scaleTargetRef", TYPED),
        Reference("keda.sh/ScaledObject", "spec.scaleTargetRef", TYPED),
        Reference("autoscaling.k8s.io/VerticalPodAutoscaler", "spec.targetRef", TYPED),
        Reference("networking.k8s.io/Ingress", "spec.defaultBackend.service.name", "Service"),
        Reference("networking.k8s.io/Ingress", "spec.rules[].http.paths[].backend.service.name", "Service"),
        Reference("trainer.kubeflow.org/TrainJob", "spec.runtimeRef", TYPED),
    ),
    UNKNOWN_TEMPLATE: (
        Reference(f"{CONSTRAINTS}/*", "kind", "templates.gatekeeper.sh/ConstraintTemplate"),
        Reference(
            "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
            "spec.policyName",
            "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        ),
    ),
}
REFERENCES = {row: rule for rule, rows in _ROWS.items() for row in rows}
"""All fields in which objects refer to other objects, with the rules about missing objects."""

_BY_SOURCE = by_first((row.source, (row, pattern(row.path))) for row in REFERENCES)


@CHECKS.finds(*_ROWS, needs=Needs.OBJECTS, when=When.BOTH)
def references(subject: Subject) -> Findings:
    """Yields a finding for every reference to an object that does not exist."""
    for reference in sorted(object_references(subject.index), key=lambda reference: reference.rule.id):
        yield from check_reference(reference, subject.index)


def object_references(index: Index) -> Iterator[ObjectReference]:
    """Yields every reference from an object to another object."""
    for manifest in index.tree.manifests:
        rows = _rows(manifest)
        rows = [*rows, *_BY_SOURCE.get(f"{group(manifest)}/*", []), *(_BY_SOURCE[ANY] if manifest.labels else ())]
        if rows:
            yield from _references(rows, manifest, manifest.document(), ())
    for pods in index.pods:
        # The rows for ANY include the labels of a Pod object.
        rows = [row for row in _BY_SOURCE[POD] if pods.path or row[1][0] != "metadata"]
        yield from _references(rows, pods.manifest, pods.template, pods.path)


def reference_paths(manifest: Manifest) -> set[Path]:
    """Returns the paths of the fields of an object that are references of its kind."""
    return {path for _, steps in _rows(manifest) for path, _ in matching_values(manifest.body, steps)}


def _rows(manifest: Manifest) -> list[tuple[Reference, Pattern]]:
    api_group = group(manifest)
    return _BY_SOURCE.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, [])


def _references(
    rows: list[tuple[Reference, Pattern]], manifest: Manifest, document: Any, under: Path
) -> Iterator[ObjectReference]:
    """Yields the references of a document: an object, or the pod template at a path of the object."""
    for reference, steps in rows:
        for path, value in matching_values(document, steps):
            rule = REFERENCES[reference]
            if resolved := object_reference(reference, rule, manifest, path, value, document, under):
                yield resolved
