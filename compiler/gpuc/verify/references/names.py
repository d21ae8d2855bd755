"""Fields in which objects refer to other objects by name, and the checks that the named objects exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.contract import Needs, When
from gpuc.diagnostics.finding import Path, Rule, Severity, declare_rule
from gpuc.kubernetes.api_groups import CONSTRAINTS, RBAC
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import by_first, group
from gpuc.objects.paths import Pattern, matching_values, pattern
from gpuc.objects.pods import CONFIG_MAPS
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.verify import CHECKS, Findings
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
INACTIVE_QUEUE = declare_rule(
    "REF001", Severity.ERROR, "A queue, flavor or admission check of Kueue refers to an object that does not exist.",
    "Kueue keeps the queue inactive and admits no workload of the queue. The workloads wait without an event.",
    "Kueue v0.19.2, pkg/cache/scheduler/clusterqueue.go (FlavorNotFound, AdmissionCheckNotFound, TopologyNotFound)",
)  # fmt: skip
UNKNOWN_LOCAL_QUEUE = declare_rule(
    "REF002", Severity.ERROR, "A workload names a LocalQueue that does not exist in the namespace of the workload.",
    "Kueue suspends the workload and never admits it.",
    "Kueue v0.19.2, pkg/controller/core/workload_controller.go (LocalQueue does not exist)",
)  # fmt: skip
UNKNOWN_NODE_CLASS = declare_rule(
    "REF004", Severity.ERROR, "A NodePool or NodeOverlay refers to an object that does not exist.",
    "The NodePool is not ready and starts no node. A NodeOverlay for a missing NodePool has no effect.",
    "Karpenter v1.14.1, pkg/controllers/nodepool/readiness/controller.go",
)  # fmt: skip
UNKNOWN_PRIORITY = declare_rule(
    "REF003", Severity.ERROR, "A workload names a priority class that does not exist.",
    "Without the WorkloadPriorityClass, Kueue creates no Workload. Without the PriorityClass, the API server refuses "
    "the pods.",
    "Kueue v0.19.2, pkg/util/priority/priority.go; kubernetes v1.35, plugin/pkg/admission/priority",
)  # fmt: skip
UNKNOWN_PROJECT = declare_rule(
    "REF009", Severity.ERROR, "An Application names an AppProject that does not exist.",
    "Argo CD reports InvalidSpecError and does not sync the Application.",
    "Argo CD v3.5, docs/user-guide/projects.md",
)  # fmt: skip
UNKNOWN_ROLE = declare_rule(
    "REF005", Severity.ERROR, "A binding refers to a role or a service account that does not exist.",
    "The API server accepts the binding, but the binding grants no permissions.",
    "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding",
)  # fmt: skip
UNKNOWN_SOURCE = declare_rule(
    "REF006", Severity.ERROR,
    "A pod refers to a ConfigMap, Secret, claim, ServiceAccount or class that does not exist.",
    "The API server refuses the pod, or the pod stays in ContainerCreating. The other pods of the workload wait and "
    "occupy GPUs.",
    "https://kubernetes.io/docs/concepts/configuration/configmap/",
)  # fmt: skip
UNKNOWN_TARGET = declare_rule(
    "REF010", Severity.ERROR, "A scaler, route or training job refers to an object that does not exist.",
    "The scaler, route or training job has no effect. Only its status, or an error of clients, shows the reason.",
    "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
)  # fmt: skip
UNKNOWN_IN_PARAMETER = declare_rule(
    "PLC005", Severity.ERROR, "A parameter of a constraint names an object that does not exist.",
    "The policy compares names. With a misspelled name, the policy refuses valid workloads or admits invalid ones.",
)  # fmt: skip
UNKNOWN_TEMPLATE = declare_rule(
    "REF008", Severity.ERROR,
    "A constraint has no ConstraintTemplate, or a ValidatingAdmissionPolicyBinding has no policy.",
    "The policy is not enforced: the API server refuses the constraint, or the binding has no effect.",
    "Gatekeeper v3.23, website/docs/howto.md",
)  # fmt: skip
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
