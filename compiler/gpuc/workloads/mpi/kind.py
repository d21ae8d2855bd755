"""What gpuc knows about MPIJobs.

Source: kubeflow/mpi-operator v0.8.2 deploy/v2beta1/mpi-operator.yaml
"""

from gpuc.parts import workload_kind as parts
from gpuc.workloads.training_operator.kind import GROUP, LABELS, TRAITS, role_pods

_ROLE = {"replicas": 1, "template": parts.sample_template("Never")}
KINDS = (
    parts.WorkloadKind(
        group=GROUP, kind="MPIJob", version="v2beta1", templates=("spec.mpiReplicaSpecs.*.template",),
        pod_set=role_pods, queueing=parts.suspended(f"{GROUP}/mpijob", 3), child=None, labels=LABELS,
        controller=parts.Controller("the MPI operator", "mpi-operator/mpi-operator", ()), start=parts.AT_ONCE,
        traits=TRAITS, sample_fields={"spec": {"mpiReplicaSpecs": {"Launcher": _ROLE, "Worker": _ROLE}}},
    ),
)  # fmt: skip
