"""The paths of pod templates in objects, by kind.

Source: k8s.io/api v0.35 (core, apps, batch); the CRDs of jobset v0.12, training-operator v1.9, lws v0.9, kuberay v1.6,
argo-rollouts v1.8 and knative serving v1
"""

from __future__ import annotations

from typing import Final

_TEMPLATE = ("spec.template",)
REPLICA_SPECS: Final = {
    "JAXJob": "jaxReplicaSpecs", "MPIJob": "mpiReplicaSpecs", "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs",
}  # fmt: skip
"""The field of the replicas by role, for the kinds of kubeflow.org."""
TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    **{f"apps/{kind}": _TEMPLATE for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")},
    "argoproj.io/Rollout": _TEMPLATE,
    "batch/Job": _TEMPLATE,
    "batch/CronJob": ("spec.jobTemplate.spec.template",),
    "jobset.x-k8s.io/JobSet": ("spec.replicatedJobs[].template.spec.template",),
    **{f"kubeflow.org/{kind}": (f"spec.{field}.*.template",) for kind, field in REPLICA_SPECS.items()},
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": (
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
    **{
        f"ray.io/{kind}": (f"{cluster}.headGroupSpec.template", f"{cluster}.workerGroupSpecs[].template")
        for kind, cluster in (
            ("RayCluster", "spec"), ("RayJob", "spec.rayClusterSpec"), ("RayService", "spec.rayClusterConfig"),
        )
    },
    "serving.knative.dev/Service": _TEMPLATE,
    "Pod": ("",),
    "PodTemplate": ("template",),
    "ReplicationController": _TEMPLATE,
}  # fmt: skip
"""Paths of the pod templates in objects, by kind. A kind is written as group/Kind.

In a path, "[]" matches every item of a list, and "*" matches every value of a map. The path of a Pod is empty, because
the object is the template.
"""
