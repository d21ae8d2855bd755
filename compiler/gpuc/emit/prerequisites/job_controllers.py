"""The controllers of the job kinds that Kueue manages and that are not part of Kubernetes."""

from __future__ import annotations

from gpuc.emit.controllers import controllers
from gpuc.emit.prerequisites.record import Chapter, Row, written
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
    used = {name: CONTROLLERS[name] for name in cluster.frameworks if name in CONTROLLERS}
    rows: list[Row] = [
        ("job-controller", ("spec", "kueue", "frameworks"), {"name": name, "title": title, "definition": definition})
        for name, (title, definition) in used.items()
    ]
    titles = list(dict.fromkeys(title for title, _ in used.values()))
    accounts = [name.removeprefix("system:serviceaccount:") for name in controllers(cluster)[1:]]
    title = "Job controllers"
    return written(cluster, "job_controllers", title, rows, controllers=titles, accounts=accounts) if rows else None
