"""The fields that the API server does not allow to change.

Source: kubernetes v1.35 pkg/apis/core/validation/validation.go (ValidateServiceUpdate, ValidateConfigMapUpdate,
ValidateSecretUpdate, ValidatePersistentVolumeClaimUpdate), pkg/apis/apps/validation/validation.go,
pkg/apis/batch/validation/validation.go (ValidateJobSpecUpdate), pkg/apis/rbac/validation/validation.go,
pkg/apis/scheduling/validation/validation.go, pkg/apis/storage/validation/validation.go;
kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import group
from gpuc.plan.change import Pair

_SPEC_FIELDS: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("", "Service"): (("spec", "clusterIP"),),
    ("apps", "DaemonSet"): (("spec", "selector"),),
    ("apps", "Deployment"): (("spec", "selector"),),
    ("apps", "ReplicaSet"): (("spec", "selector"),),
    ("batch", "Job"): (("spec", "selector"), ("spec", "completionMode"), ("spec", "podFailurePolicy")),
    ("karpenter.sh", "NodePool"): (
        ("spec", "template", "spec", "nodeClassRef", "group"),
        ("spec", "template", "spec", "nodeClassRef", "kind"),
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",),
        ("parameters",),
        ("reclaimPolicy",),
        ("volumeBindingMode",),
    ),
    ("", "Secret"): (("type",),),
}
"""The immutable fields by API group and kind. The webhooks of Kueue are judged by the impacts on queues."""
_MUTABLE_SPEC: dict[tuple[str, str], frozenset[str]] = {
    ("", "PersistentVolumeClaim"): frozenset(("resources", "volumeAttributesClassName")),
    ("apps", "StatefulSet"): frozenset(
        (
            "minReadySeconds",
            "ordinals",
            "persistentVolumeClaimRetentionPolicy",
            "replicas",
            "revisionHistoryLimit",
            "template",
            "updateStrategy",
        )
    ),
}
"""The fields of spec that may change, for kinds whose other fields of spec are immutable."""


def refused_fields(pair: Pair) -> Iterator[tuple[Path, str]]:
    """Yields the changed fields of an object that the API server refuses, with the reason."""
    if not pair.is_changed:
        return
    key = (group(pair.manifest), pair.manifest.kind)
    for path in _SPEC_FIELDS.get(key, ()):
        if pair.changes(*path) and None not in pair.values(*path):
            yield path, f"the field {'.'.join(path)} is immutable"
    if key in _MUTABLE_SPEC:
        for field in pair.fields:
            if field.is_below("spec") and field.path[1:] and field.path[1] not in _MUTABLE_SPEC[key]:
                yield field.path, f"the field spec.{field.path[1]} is immutable"
    if key == ("karpenter.sh", "NodePool"):
        yield from _changed_kind_of_pool(pair)
    if key in (("", "ConfigMap"), ("", "Secret")) and pair.values("immutable")[0] is True:
        data = [field.path for field in pair.fields if field.path[0] in ("data", "binaryData", "immutable")]
        yield from ((path, "the object is marked as immutable") for path in data[:1])


def _changed_kind_of_pool(pair: Pair) -> Iterator[tuple[Path, str]]:
    before, after = pair.values("spec", "replicas")
    if before is None and after is not None:
        yield ("spec", "replicas"), "a NodePool cannot change from a dynamic pool to a static pool"
    elif before is not None and after is None:
        yield ("spec", "replicas"), "a NodePool cannot change from a static pool to a dynamic pool"
