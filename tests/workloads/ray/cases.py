"""The kinds of KubeRay with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

_QUEUE = "metadata|labels|kueue.x-k8s.io/queue-name"
CASES = [
    Case("RayCluster", {}, None),
    Case("RayJob", {}, None),
    Case("RayCluster", {"spec.headGroupSpec": DELETE}),
    Case("RayCluster", {"spec.workerGroupSpecs.0.groupName": DELETE}),
    Case(
        "RayCluster",
        {"spec.headGroupSpec.rayStartParams": {"num-gpus": 1}},
        "spec.headGroupSpec.rayStartParams.num-gpus",
    ),
    Case("RayCluster", {"spec.managedBy": "me"}),
    Case("RayJob", {"spec.entryPoint": "run"}),
    Case("RayJob", {"spec.shutdownAfterJobFinishes": "yes"}),
    Case("RayJob", {"spec.deletionStrategy": {"onSuccess": {"policy": "DeleteCluster"}}}),
    Case("RayCluster", {"spec.managedBy": "ray.io/kuberay-operator"}, None),
    Case("RayCluster", {"spec.managedBy": "kueue.x-k8s.io/multikueue"}, None),
    Case("RayJob", {"spec.managedBy": "ray.io/kuberay-operator"}, None),
    Case("RayJob", {"spec.managedBy": "kueue.x-k8s.io/multikueue"}, None),
]
WEBHOOK_CASES = [
    Case("RayJob", {_QUEUE: "a", "spec.shutdownAfterJobFinishes": False}, "spec.shutdownAfterJobFinishes"),
    Case(
        "RayJob",
        {_QUEUE: "a", "spec.rayClusterSpec.enableInTreeAutoscaling": True},
        "spec.rayClusterSpec.enableInTreeAutoscaling",
    ),
    Case("RayCluster", {_QUEUE: "a", "spec.workerGroupSpecs.0.groupName": "head"}, "spec.workerGroupSpecs.0.groupName"),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
