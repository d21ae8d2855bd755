"""The record of MPIJobs.

Source: kubeflow/mpi-operator v0.8.2 deploy/v2beta1/mpi-operator.yaml
"""

from __future__ import annotations

from gpuc.manifest.manifest import Body
from gpuc.parts.workload_kind import (
    AT_ONCE,
    LABELS,
    Controller,
    PodLabels,
    Queueing,
    WorkloadKind,
    no_pods,
    no_rule,
    sample,
    sample_template,
)
from gpuc.workloads.training_operator.kind import GROUP, role_pods


def _sample(queue: str) -> Body:
    roles = {name: {"replicas": 1, "template": sample_template("Never")} for name in ("Launcher", "Worker")}
    return sample(f"{GROUP}/v2beta1", "MPIJob", queue, {"mpiReplicaSpecs": roles})


KINDS = (
    WorkloadKind(
        group=GROUP,
        kind="MPIJob",
        version="v2beta1",
        templates=("spec.mpiReplicaSpecs.*.template",),
        pod_set=role_pods,
        further_pods=no_pods,
        queueing=Queueing(
            f"{GROUP}/mpijob", 3, holds_pods=False, is_pod_group=False, is_per_replica=False, labels=(LABELS,)
        ),
        controller=Controller("the MPI operator", "mpi-operator/mpi-operator", ()),
        child=None,
        labels=PodLabels({}, ("training.kubeflow.org/",)),
        start=AT_ONCE,
        claims=(),
        keeps_data=False,
        is_scaled=False,
        has_service=True,
        is_expanded=False,
        why_not_traced="",
        placement=no_rule,
        sample=_sample,
    ),
)
