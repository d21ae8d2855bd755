"""The controllers of the job kinds that Kueue manages and that are not part of Kubernetes."""

from __future__ import annotations

from gpuc.emit.controllers import controllers
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.model import Cluster

CONTROLLERS = {
    "jobset.x-k8s.io/jobset": ("JobSet", "jobsets.jobset.x-k8s.io"),
    "trainer.kubeflow.org/trainjob": ("Kubeflow Trainer", "trainjobs.trainer.kubeflow.org"),
    "kubeflow.org/mpijob": ("the MPI operator", "mpijobs.kubeflow.org"),
    "kubeflow.org/pytorchjob": ("the Kubeflow Training Operator", "pytorchjobs.kubeflow.org"),
    "ray.io/rayjob": ("KubeRay", "rayjobs.ray.io"),
    "ray.io/raycluster": ("KubeRay", "rayclusters.ray.io"),
    "leaderworkerset.x-k8s.io/leaderworkerset": ("LeaderWorkerSet", "leaderworkersets.leaderworkerset.x-k8s.io"),
}
"""The controller and the definition of each kind, by the name of the Kueue integration."""


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about controllers of jobs; None if Kueue manages only kinds of Kubernetes."""
    frameworks = [name for name in cluster.frameworks if name in CONTROLLERS]
    if not frameworks:
        return None
    prerequisites = tuple(_controller(cluster, name) for name in frameworks)
    values = {
        "controllers": list(dict.fromkeys(CONTROLLERS[name][0] for name in frameworks)),
        "accounts": [name.removeprefix("system:serviceaccount:") for name in controllers(cluster)[1:]],
    }
    return Chapter("Job controllers", "job_controllers.md.j2", prerequisites, values)


def _controller(cluster: Cluster, framework: str) -> Prerequisite:
    title, definition = CONTROLLERS[framework]
    return Prerequisite(
        id=f"job-controller/{framework}",
        what=f"{title}, with the definition `{definition}`",
        reason="Kueue manages the kind only if the definition exists when Kueue starts",
        checks=(f"{kubectl(cluster)} get crd {definition}",),
        expected="the definition",
        path=("spec", "kueue", "frameworks"),
    )
