"""The topology of MPIJobs, which Kueue's webhook checks.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/mpijob/mpijob_webhook.go
"""

from __future__ import annotations

from gpuc.admission.validation.field import Field, Problems, count_or_one
from gpuc.admission.validation.kueue_topology import pod_set, topology_of_groups


def _topology_of_mpi_job(document: Field) -> Problems:
    replicas = (replica for _, replica in document.entries("spec", "mpiReplicaSpecs"))
    yield from topology_of_groups(
        pod_set(replica.at("template"), count_or_one(replica.get("replicas"))) for replica in replicas
    )
