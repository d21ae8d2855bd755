"""The pods that objects of a tree start: where in which kind a pod's template stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, pairs
from gpuc.objects.paths import pattern, places

_TEMPLATE = ("spec.template",)
TEMPLATES: dict[str, tuple[str, ...]] = {
    "apps/DaemonSet": _TEMPLATE,
    "apps/Deployment": _TEMPLATE,
    "apps/ReplicaSet": _TEMPLATE,
    "apps/StatefulSet": _TEMPLATE,
    "argoproj.io/Rollout": _TEMPLATE,
    "batch/Job": _TEMPLATE,
    "batch/CronJob": ("spec.jobTemplate.spec.template",),
    "jobset.x-k8s.io/JobSet": ("spec.replicatedJobs[].template.spec.template",),
    "kubeflow.org/JAXJob": ("spec.jaxReplicaSpecs.*.template",),
    "kubeflow.org/MPIJob": ("spec.mpiReplicaSpecs.*.template",),
    "kubeflow.org/PaddleJob": ("spec.paddleReplicaSpecs.*.template",),
    "kubeflow.org/PyTorchJob": ("spec.pytorchReplicaSpecs.*.template",),
    "kubeflow.org/TFJob": ("spec.tfReplicaSpecs.*.template",),
    "kubeflow.org/XGBoostJob": ("spec.xgbReplicaSpecs.*.template",),
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": (
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
    "ray.io/RayCluster": ("spec.headGroupSpec.template", "spec.workerGroupSpecs[].template"),
    "ray.io/RayJob": (
        "spec.rayClusterSpec.headGroupSpec.template",
        "spec.rayClusterSpec.workerGroupSpecs[].template",
    ),
    "ray.io/RayService": (
        "spec.rayClusterConfig.headGroupSpec.template",
        "spec.rayClusterConfig.workerGroupSpecs[].template",
    ),
    "serving.knative.dev/Service": _TEMPLATE,
    "Pod": ("",),
    "PodTemplate": ("template",),
    "ReplicationController": _TEMPLATE,
}
"""Kinds, as group/Kind, to the places of what has the metadata and spec of their pods."""

JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"


class Pods(NamedTuple):
    """Pods of one template."""

    manifest: Manifest
    path: Path
    """Where the template stands in the object's document."""
    template: Any

    @property
    def spec(self) -> Any:
        """What the pods are to be."""
        return dig(self.template, "spec")

    @property
    def labels(self) -> dict[str, Any]:
        """The labels that the template gives them; controllers add others."""
        return dict(pairs(dig(self.template, "metadata", "labels")))

    @property
    def given(self) -> dict[str, str]:
        """The labels that the controller of their kind adds and whose values follow from the object.

        Source: kubernetes v1.35 pkg/registry/batch/job/strategy.go; jobset v0.12 pkg/controllers/jobset_controller.go
        """
        match group(self.manifest), self.manifest.kind:
            case "batch", "Job":
                return dict.fromkeys(JOB_NAME, self.manifest.name)
            case "jobset.x-k8s.io", "JobSet":
                part = dig(self.manifest.body, *self.path[:3], "name")
                return {JOBSET_NAME: self.manifest.name} | ({REPLICATED_JOB: part} if isinstance(part, str) else {})
        return {}

    def containers(self) -> Iterator[tuple[Path, Any]]:
        """Path in the object's document and definition of every container."""
        for where in ("initContainers", "containers"):
            for number, container in items(dig(self.spec, where)):
                yield (*self.path, "spec", where, number), container

    def resources(self) -> Iterator[tuple[Path, str]]:
        """Path and name of every resource that a container asks for."""
        for path, container in self.containers():
            for part in ("limits", "requests"):
                for name, _ in pairs(dig(container, "resources", part)):
                    yield (*path, "resources", part, name), name

    @property
    def wants_devices(self) -> bool:
        """Whether they ask for anything beside what every node has, such as GPUs."""
        return any("/" in name for _, name in self.resources())


def pods(tree: ObjectSet) -> Iterator[Pods]:
    """All templates of pods of a tree, in the order of its objects."""
    known = {kind: [pattern(each) for each in where] for kind, where in TEMPLATES.items()}
    for manifest in tree.manifests:
        api_group = group(manifest)
        for steps in known.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, ()):
            for path, template in places(manifest.document(), steps):
                if isinstance(template, dict):
                    yield Pods(manifest, path, template)
