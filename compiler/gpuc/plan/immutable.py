"""The fields that the API server does not allow to change.

The impacts on queues judge LocalQueue and ResourceFlavor of Kueue.

Source: kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateServiceUpdate, ValidateConfigMapUpdate,
ValidateSecretUpdate, ValidatePersistentVolumeUpdate, ValidatePersistentVolumeClaimUpdate, ValidatePodUpdate,
ValidateResourceQuotaUpdate), pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/validation.go
(ValidateJobSpecUpdate), pkg/apis/scheduling, storage, node, networking and resource/validation/validation.go;
apiextensions-apiserver v0.35.4 pkg/apis/apiextensions/validation/validation.go; rules with oldSelf in the CRDs of
karpenter v1.14.1, kueue v0.19.2, jobset v0.12.0, trainer v2.3.0, training-operator v1.9.4, kuberay v1.6.2 and
gpu-operator v26.7.0;
jobset v0.12.0 pkg/webhooks/jobset_webhook.go (ValidateUpdate)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gpuc.cluster.application import sync_options
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import group
from gpuc.plan.change import Pair

_SET: Final = object()
"""The default of a field for which the server sets a value, or which may be added and removed."""
_JOB_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")
_OF_JOB_SET = "failurePolicy network startupPolicy successPolicy volumeClaimPolicies"
_TEMPLATE_OF_RUNTIME = " ".join(f"template.spec.{field}" for field in _OF_JOB_SET.split())
_SPEC: Mapping[tuple[str, str], str] = {
    ("", "Pod"): "nodeName serviceAccountName volumes affinity",
    ("", "PersistentVolume"): "csi nfs hostPath local volumeMode",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "scope names.kind",
    ("apps", "DaemonSet"): "selector",
    ("apps", "Deployment"): "selector",
    ("apps", "ReplicaSet"): "selector",
    ("batch", "Job"): "selector",
    ("jobset.x-k8s.io", "JobSet"): f"{_OF_JOB_SET} managedBy",
    ("karpenter.sh", "NodePool"): "template.spec.nodeClassRef.group template.spec.nodeClassRef.kind",
    **{
        ("kubeflow.org", kind): "runPolicy.schedulingPolicy.queue"
        for kind in ("JAXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")
    },
    ("kueue.x-k8s.io", "AdmissionCheck"): "controllerName",
    ("kueue.x-k8s.io", "Topology"): "levels",
    ("networking.k8s.io", "IngressClass"): "controller",
    ("nvidia.com", "NVIDIADriver"): "driverType usePrecompiled",
    ("ray.io", "RayCluster"): "managedBy",
    ("ray.io", "RayCronJob"): "jobTemplate.managedBy jobTemplate.rayClusterSpec.managedBy",
    ("ray.io", "RayJob"): "managedBy rayClusterSpec.managedBy",
    ("ray.io", "RayService"): "managedBy rayClusterConfig.managedBy",
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _TEMPLATE_OF_RUNTIME,
    ("trainer.kubeflow.org", "TrainingRuntime"): _TEMPLATE_OF_RUNTIME,
    ("trainer.kubeflow.org", "TrainJob"): "activeDeadlineSeconds initializer managedBy runtimeRef trainer",
}
"""The immutable fields below spec by API group and kind. A field that an object does not have is not compared.

The queue of an MPIJob is immutable in version v1 of the training operator, and not in version v2beta1 of the MPI
operator, so the table does not contain it.
"""
_OTHERS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("", "ResourceQuota"): {"spec.scopes": []},
    ("", "Secret"): {"type": "Opaque"},
    ("batch", "Job"): {
        "spec.completionMode": "NonIndexed",
        **dict.fromkeys(("spec.podFailurePolicy", "spec.successPolicy", "spec.backoffLimitPerIndex", "spec.managedBy")),
    },
    ("node.k8s.io", "RuntimeClass"): {"handler": _SET},
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): {"roleRef": _SET},
    ("rbac.authorization.k8s.io", "RoleBinding"): {"roleRef": _SET},
    ("resource.k8s.io", "ResourceClaim"): {"spec": _SET},
    ("resource.k8s.io", "ResourceClaimTemplate"): {"spec": _SET},
    ("resource.nvidia.com", "ComputeDomain"): {"spec": _SET},
    ("scheduling.k8s.io", "PriorityClass"): {"value": _SET, "preemptionPolicy": "PreemptLowerPriority"},
    ("storage.k8s.io", "StorageClass"): {
        "provisioner": _SET,
        "parameters": None,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    },
}
"""Other immutable fields, with the value of a field that an object does not have.

Argo CD creates a binding with another roleRef again only without server-side apply, which the Applications of gpuc use.
Source: argo-cd v3.5.7 gitops-engine pkg/utils/kube/resource_ops.go (ApplyResource)
"""
_MUTABLE_SPEC = {
    "PersistentVolumeClaim": ("resources", "volumeAttributesClassName"),
    "StatefulSet": (
        "minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "revisionHistoryLimit",
        "template", "updateStrategy",
    ),
}  # fmt: skip
"""The fields of spec that may change, for kinds whose other fields of spec are immutable."""


def refused_fields(pair: Pair) -> Iterator[tuple[Path, str]]:
    """Yields the changed fields of an object that the API server refuses, with the reason.

    Argo CD deletes and creates hooks, and objects with the sync options Force=true and Replace=true. Their fields may
    change.
    """
    if not pair.is_changed or _is_created_again(pair):
        return
    key = group(pair.manifest), pair.manifest.kind
    fields = {**dict.fromkeys((f"spec.{field}" for field in _SPEC.get(key, "").split()), _SET), **_OTHERS.get(key, {})}
    for field, default in fields.items():
        path = tuple(field.split("."))
        values = pair.values(*path)
        # A missing value is the default, or is not compared.
        before, after = values if default is _SET else (default if value is None else value for value in values)
        is_compared = default is not _SET or None not in values
        if pair.changes(*path) and is_compared and before != after:
            yield path, f"the field {field} is immutable"
    if special := _SPECIAL.get(key):
        yield from special(pair)


def _is_created_again(pair: Pair) -> bool:
    """Returns whether Argo CD deletes the object and creates it again, instead of changing it.

    Source: argo-cd v3.5.1 gitops-engine pkg/sync/sync_context.go (applyObject), docs/user-guide/sync-waves.md (hooks)
    """
    annotations = pair.manifest.annotations
    return {"Force=true", "Replace=true"} <= {*sync_options(pair.manifest)} or not annotations.keys().isdisjoint(
        ("argocd.argoproj.io/hook", "helm.sh/hook")
    )


def _immutable_spec(pair: Pair) -> Iterator[tuple[Path, str]]:
    mutable = _MUTABLE_SPEC[pair.manifest.kind]
    for field in pair.fields:
        if field.is_below("spec") and field.path[1:] and field.path[1] not in mutable:
            yield field.path, f"the field spec.{field.path[1]} is immutable"
    path = ("spec", "resources", "requests", "storage")
    before, after = (quantity(value) for value in pair.values(*path))
    if before is not None and after is not None and after < before:
        yield path, "a PersistentVolumeClaim cannot become smaller, except to more than status.capacity"


def _immutable_data(pair: Pair) -> Iterator[tuple[Path, str]]:
    data = [field.path for field in pair.fields if field.path[0] in ("data", "binaryData", "immutable")]
    if pair.values("immutable")[0] is True:
        yield from ((path, "the object is marked as immutable") for path in data[:1])


def _cluster_address(pair: Pair) -> Iterator[tuple[Path, str]]:
    """Yields the address of a Service. A Service without a value has an address that the server chose.

    A Service keeps its value if the field is removed. Source: pkg/registry/core/service/storage/storage.go
    (patchAllocatedValues)
    """
    path = ("spec", "clusterIP")
    before, after = pair.values(*path)
    has_address = "ExternalName" not in pair.values("spec", "type")
    if has_address and after and before != after and (before or after == "None"):
        yield path, "the clusterIP of a Service cannot change"


def _kind_of_pool(pair: Pair) -> Iterator[tuple[Path, str]]:
    before, after = ("dynamic" if value is None else "static" for value in pair.values("spec", "replicas"))
    if before != after:
        yield ("spec", "replicas"), f"a NodePool cannot change from a {before} pool to a {after} pool"


def _pod_template(pair: Pair) -> Iterator[tuple[Path, str]]:
    """Yields the changed fields of a Job that are immutable: the completions and the pod template.

    While a Job is suspended, fields for the scheduling of its pods may change.
    """
    if pair.values("spec", "completionMode")[1] != "Indexed" and pair.changes("spec", "completions"):
        yield ("spec", "completions"), "the field spec.completions is immutable"
    template = ("spec", "template")
    suspended = pair.values("spec", "suspend")[0] is True
    mutable: list[Path] = [(*template, "metadata"), (*template, "spec", "affinity", "nodeAffinity")]
    mutable += [(*template, "spec", field) for field in _JOB_SCHEDULING]
    for field in pair.fields:
        if field.is_below(*template) and not (suspended and any(field.is_below(*path) for path in mutable)):
            yield field.path, "the pod template of a Job is immutable"
            return


def _replicated_jobs(pair: Pair) -> Iterator[tuple[Path, str]]:
    """Yields the first changed field of the Jobs of a JobSet, unless the JobSet is or becomes suspended."""
    if True not in pair.values("spec", "suspend"):
        changed = [field.path for field in pair.fields if field.is_below("spec", "replicatedJobs")]
        yield from ((path, "the Jobs of a JobSet are immutable") for path in changed[:1])


_SPECIAL = {
    ("", "ConfigMap"): _immutable_data,
    ("", "PersistentVolumeClaim"): _immutable_spec,
    ("", "Secret"): _immutable_data,
    ("", "Service"): _cluster_address,
    ("apps", "StatefulSet"): _immutable_spec,
    ("batch", "Job"): _pod_template,
    ("jobset.x-k8s.io", "JobSet"): _replicated_jobs,
    ("karpenter.sh", "NodePool"): _kind_of_pool,
}
"""The functions that yield the fields that are immutable on conditions."""
