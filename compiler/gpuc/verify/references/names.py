"""Names: each row of the table is a place where one kind of object names another."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.objects.flaw import Flaw
from gpuc.objects.index import Index
from gpuc.objects.object_set import group
from gpuc.objects.paths import pattern, places
from gpuc.objects.pods import Pods
from gpuc.verify.references.faults import (
    DEAD_QUEUE,
    NO_NODE_CLASS,
    NO_PRIORITY,
    NO_PROJECT,
    NO_QUEUE,
    NO_ROLE,
    NO_SOURCE,
    NO_TARGET,
    NO_TEMPLATE,
)
from gpuc.verify.references.reference import ANY, ANYWHERE, POD, SAID, Reference, Use, judge, use

_KUEUE = "kueue.x-k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_CONSTRAINTS = "constraints.gatekeeper.sh"
_QUEUE = f"{{{_KUEUE}/queue-name}}"
_PRIORITY = f"{{{_KUEUE}/priority-class}}"
_LOCAL, _CLASS = f"{_KUEUE}/LocalQueue", f"{_KUEUE}/WorkloadPriorityClass"

REFERENCES: tuple[Reference, ...] = (
    # Kueue
    Reference(_LOCAL, "spec.clusterQueue", f"{_KUEUE}/ClusterQueue", DEAD_QUEUE),
    Reference(f"{_KUEUE}/ClusterQueue", "spec.resourceGroups[].flavors[].name", f"{_KUEUE}/ResourceFlavor", DEAD_QUEUE),
    Reference(f"{_KUEUE}/Cohort", "spec.resourceGroups[].flavors[].name", f"{_KUEUE}/ResourceFlavor", DEAD_QUEUE),
    Reference(f"{_KUEUE}/ClusterQueue", "spec.admissionChecks[]", f"{_KUEUE}/AdmissionCheck", DEAD_QUEUE),
    Reference(
        f"{_KUEUE}/ClusterQueue",
        "spec.admissionChecksStrategy.admissionChecks[].name",
        f"{_KUEUE}/AdmissionCheck",
        DEAD_QUEUE,
    ),
    Reference(
        f"{_KUEUE}/ClusterQueue",
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors[]",
        f"{_KUEUE}/ResourceFlavor",
        DEAD_QUEUE,
    ),
    Reference(f"{_KUEUE}/ResourceFlavor", "spec.topologyName", f"{_KUEUE}/Topology", DEAD_QUEUE),
    Reference(f"{_KUEUE}/AdmissionCheck", "spec.parameters", SAID, DEAD_QUEUE),
    Reference(f"{_KUEUE}/MultiKueueConfig", "spec.clusters[]", f"{_KUEUE}/MultiKueueCluster", DEAD_QUEUE),
    Reference(ANY, f"metadata.labels.{_QUEUE}", _LOCAL, NO_QUEUE),
    Reference(POD, f"metadata.labels.{_QUEUE}", _LOCAL, NO_QUEUE),
    Reference("batch/CronJob", f"spec.jobTemplate.metadata.labels.{_QUEUE}", _LOCAL, NO_QUEUE),
    Reference(ANY, f"metadata.labels.{_PRIORITY}", _CLASS, NO_PRIORITY),
    Reference(POD, f"metadata.labels.{_PRIORITY}", _CLASS, NO_PRIORITY),
    Reference("batch/CronJob", f"spec.jobTemplate.metadata.labels.{_PRIORITY}", _CLASS, NO_PRIORITY),
    # Karpenter
    Reference("karpenter.sh/NodePool", "spec.template.spec.nodeClassRef", SAID, NO_NODE_CLASS),
    Reference(
        "karpenter.sh/NodeOverlay",
        "spec.requirements[].values[]",
        "karpenter.sh/NodePool",
        NO_NODE_CLASS,
        when=("key", "karpenter.sh/nodepool"),
    ),
    # rights
    Reference(f"{_RBAC}/RoleBinding", "roleRef", SAID, NO_ROLE),
    Reference(f"{_RBAC}/ClusterRoleBinding", "roleRef", SAID, NO_ROLE),
    *(
        Reference(
            f"{_RBAC}/{each}", "subjects[].name", "ServiceAccount", NO_ROLE, "namespace", ("kind", "ServiceAccount")
        )
        for each in ("RoleBinding", "ClusterRoleBinding")
    ),
    # pods
    Reference(POD, "spec.serviceAccountName", "ServiceAccount", NO_SOURCE),
    Reference(POD, "spec.imagePullSecrets[].name", "Secret", NO_SOURCE),
    Reference(POD, "spec.priorityClassName", "scheduling.k8s.io/PriorityClass", NO_PRIORITY),
    Reference(POD, "spec.runtimeClassName", "node.k8s.io/RuntimeClass", NO_SOURCE),
    Reference(POD, "spec.volumes[].configMap.name", "ConfigMap", NO_SOURCE),
    Reference(POD, "spec.volumes[].secret.secretName", "Secret", NO_SOURCE),
    Reference(POD, "spec.volumes[].projected.sources[].configMap.name", "ConfigMap", NO_SOURCE),
    Reference(POD, "spec.volumes[].projected.sources[].secret.name", "Secret", NO_SOURCE),
    Reference(POD, "spec.volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim", NO_SOURCE),
    Reference(POD, "spec.resourceClaims[].resourceClaimName", "resource.k8s.io/ResourceClaim", NO_SOURCE),
    Reference(
        POD, "spec.resourceClaims[].resourceClaimTemplateName", "resource.k8s.io/ResourceClaimTemplate", NO_SOURCE
    ),
    *(
        Reference(POD, f"spec.{containers}[].{path}", target, NO_SOURCE)
        for containers in ("containers", "initContainers")
        for path, target in (
            ("envFrom[].configMapRef.name", "ConfigMap"),
            ("envFrom[].secretRef.name", "Secret"),
            ("env[].valueFrom.configMapKeyRef.name", "ConfigMap"),
            ("env[].valueFrom.secretKeyRef.name", "Secret"),
        )
    ),
    Reference("PersistentVolumeClaim", "spec.storageClassName", "storage.k8s.io/StorageClass", NO_SOURCE),
    Reference("nvidia.com/ClusterPolicy", "spec.devicePlugin.config.name", "ConfigMap", NO_SOURCE, ANYWHERE),
    Reference("nvidia.com/ClusterPolicy", "spec.migManager.config.name", "ConfigMap", NO_SOURCE, ANYWHERE),
    Reference("nvidia.com/ClusterPolicy", "spec.dcgmExporter.config.name", "ConfigMap", NO_SOURCE, ANYWHERE),
    # policies
    Reference(f"{_CONSTRAINTS}/*", "kind", "templates.gatekeeper.sh/ConstraintTemplate", NO_TEMPLATE),
    Reference(
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "spec.policyName",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        NO_TEMPLATE,
    ),
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.queues[]", _LOCAL, NO_TARGET, ANYWHERE),
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.priorities[]", _CLASS, NO_TARGET),
    Reference(f"{_CONSTRAINTS}/GpucGpuQueue", "spec.parameters.gpuQueues[]", _LOCAL, NO_TARGET, ANYWHERE),
    Reference(f"{_CONSTRAINTS}/GpucGpuQueue", "spec.parameters.cpuQueues[]", _LOCAL, NO_TARGET, ANYWHERE),
    Reference(f"{_CONSTRAINTS}/GpucPoolSelector", "spec.parameters.pools[]", "karpenter.sh/NodePool", NO_TARGET),
    Reference(
        f"{_CONSTRAINTS}/GpucPoolSelector", "spec.parameters.choices[].pools[]", "karpenter.sh/NodePool", NO_TARGET
    ),
    Reference(f"{_CONSTRAINTS}/GpucGpuLimits", "spec.parameters.limits[].pool", "karpenter.sh/NodePool", NO_TARGET),
    Reference(
        f"{_CONSTRAINTS}/GpucNcclProfile", "spec.parameters.profiles[].configMap", "ConfigMap", NO_TARGET, "namespace"
    ),
    # delivery
    Reference("argoproj.io/Application", "spec.project", "argoproj.io/AppProject", NO_PROJECT, ANYWHERE),
    Reference(
        "argoproj.io/ApplicationSet", "spec.template.spec.project", "argoproj.io/AppProject", NO_PROJECT, ANYWHERE
    ),
    # what points at workloads and services
    Reference("autoscaling/HorizontalPodAutoscaler", "spec.scaleTargetRef", SAID, NO_TARGET),
    Reference("keda.sh/ScaledObject", "spec.scaleTargetRef", SAID, NO_TARGET),
    Reference("autoscaling.k8s.io/VerticalPodAutoscaler", "spec.targetRef", SAID, NO_TARGET),
    Reference("networking.k8s.io/Ingress", "spec.defaultBackend.service.name", "Service", NO_TARGET),
    Reference("networking.k8s.io/Ingress", "spec.rules[].http.paths[].backend.service.name", "Service", NO_TARGET),
    Reference("trainer.kubeflow.org/TrainJob", "spec.runtimeRef", SAID, NO_TARGET),
)
"""Every place at which an object names another."""

_BY_SOURCE: dict[str, list[tuple[Reference, tuple[str, ...]]]] = {}
for _each in REFERENCES:
    _BY_SOURCE.setdefault(_each.source, []).append((_each, pattern(_each.path)))


def flaws(index: Index) -> Iterator[Flaw]:
    """Every name that leads nowhere, in the order of the objects."""
    for seen in uses(index):
        yield from judge(seen, index)


def uses(index: Index) -> Iterator[Use]:
    """Every place at which an object of the tree names another."""
    for manifest in index.tree.manifests:
        api_group = group(manifest)
        rows = _BY_SOURCE.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, [])
        wide = _BY_SOURCE.get(f"{api_group}/*", [])
        if not (rows or wide or manifest.labels):
            continue
        document = manifest.document()
        for reference, steps in (*rows, *wide, *(_BY_SOURCE[ANY] if manifest.labels else ())):
            for path, value in places(document, steps):
                if seen := use(reference, manifest, path, value, document):
                    yield seen
    for each in index.pods:
        yield from _of(each)


def _of(each: Pods) -> Iterator[Use]:
    for reference, steps in _BY_SOURCE[POD]:
        if not each.path and steps[0] == "metadata":
            continue  # a bare pod's own labels are those of any object
        for path, value in places(each.template, steps):
            if seen := use(reference, each.manifest, path, value, each.template, under=each.path):
                yield seen
