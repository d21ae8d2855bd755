"""Deployments and the other kinds of replicas with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

_T = "spec.template.spec"
_C = f"{_T}.containers.0"
_VCT = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
_QUEUE = "metadata|labels|kueue.x-k8s.io/queue-name"
CASES = [
    Case("Deployment", {}, None),
    Case("StatefulSet", {}, None),
    Case("ReplicaSet", {}, None),
    Case("DaemonSet", {}, None),
    Case("Deployment", {"spec.selector": DELETE}),
    Case("StatefulSet", {"spec.selector": DELETE}),
    Case("ReplicaSet", {"spec.selector": DELETE}),
    Case("DaemonSet", {"spec.selector": DELETE}),
    Case("Deployment", {"spec.selector": {}}),
    Case("StatefulSet", {"spec.selector": {}}),
    Case("ReplicaSet", {"spec.selector": {}}),
    Case("DaemonSet", {"spec.selector": {}}),
    Case("Deployment", {"spec.template.metadata.labels": {"app": "b"}}),
    Case("StatefulSet", {"spec.template.metadata.labels": {"app": "b"}}),
    Case("ReplicaSet", {"spec.template.metadata.labels": {"app": "b"}}),
    Case("DaemonSet", {"spec.template.metadata.labels": {"app": "b"}}),
    Case("Deployment", {f"{_T}.restartPolicy": "Never"}),
    Case("StatefulSet", {f"{_T}.restartPolicy": "Never"}),
    Case("ReplicaSet", {f"{_T}.restartPolicy": "Never"}),
    Case("DaemonSet", {f"{_T}.restartPolicy": "Never"}),
    Case("Deployment", {f"{_T}.activeDeadlineSeconds": 5}),
    Case("StatefulSet", {f"{_T}.activeDeadlineSeconds": 5}),
    Case("ReplicaSet", {f"{_T}.activeDeadlineSeconds": 5}),
    Case("DaemonSet", {f"{_T}.activeDeadlineSeconds": 5}),
    Case("Deployment", {"spec.replicas": -1}),
    Case("StatefulSet", {"spec.replicas": -1}),
    Case("ReplicaSet", {"spec.replicas": -1}),
    Case("Deployment", {"spec.template": DELETE}, f"{_T}.containers"),
    Case("DaemonSet", {"spec.template": DELETE}, f"{_T}.containers"),
    Case("StatefulSet", {"spec.template": DELETE}, f"{_T}.containers"),
    Case("Deployment", {"spec.strategy": {"type": "Rolling"}}, "spec.strategy.type"),
    Case(
        "Deployment",
        {"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        "spec.strategy.rollingUpdate",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxUnavailable": "25"}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxUnavailable": "150%"}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case("Deployment", {"spec.strategy": {"rollingUpdate": {"maxSurge": "150%"}}}, None),
    Case("Deployment", {"spec.progressDeadlineSeconds": 5, "spec.minReadySeconds": 10}),
    Case("Deployment", {"spec.revisionHistoryLimit": -1}),
    Case(
        "Deployment", {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}}, None
    ),
    Case(
        "Deployment",
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
        "spec.selector.matchExpressions.0.values",
    ),
    Case("Deployment", {"spec.replica": 2}),
    Case("StatefulSet", {"metadata.name": "a.b"}),
    Case("StatefulSet", {"spec.serviceName": "A"}),
    Case("StatefulSet", {"spec.serviceName": DELETE}, None),
    Case("StatefulSet", {"spec.podManagementPolicy": "Ordered"}),
    Case("StatefulSet", {"spec.updateStrategy": {"type": "Recreate"}}, "spec.updateStrategy.type"),
    Case(
        "StatefulSet",
        {"spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        "spec.updateStrategy.rollingUpdate",
    ),
    Case(
        "StatefulSet",
        {"spec.updateStrategy": {"rollingUpdate": {"partition": -1}}},
        "spec.updateStrategy.rollingUpdate.partition",
    ),
    Case(
        "StatefulSet",
        {"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep"}},
        "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
    ),
    Case(
        "StatefulSet",
        {"spec.volumeClaimTemplates": [_VCT], f"{_C}.volumeMounts": [{"name": "data", "mountPath": "/d"}]},
        None,
    ),
    Case(
        "StatefulSet",
        {"spec.volumeClaimTemplates": [_VCT], f"{_C}.volumeMounts": [{"name": "b", "mountPath": "/d"}]},
        f"{_C}.volumeMounts.0.name",
    ),
    Case(
        "StatefulSet",
        {"spec.volumeClaimTemplates": [{**_VCT, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]},
        "spec.volumeClaimTemplates.0.spec.accessModes",
    ),
    Case("StatefulSet", {f"{_T}.hostname": "A_b"}, None),
    Case(
        "DaemonSet",
        {"spec.updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
        "spec.updateStrategy.rollingUpdate.maxSurge",
    ),
    Case(
        "DaemonSet",
        {"spec.updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
    ),
    Case("DaemonSet", {"spec.updateStrategy": {"type": "Recreate"}}, "spec.updateStrategy.type"),
]
WEBHOOK_CASES = [
    Case("Deployment", {_QUEUE: "Team"}),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
