"""MPIJobs with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

CASES = [
    Case("MPIJob", {}, None),
    Case("MPIJob", {"spec.mpiReplicaSpecs": DELETE}),
    Case("MPIJob", {"spec.slotsPerWorker": "8"}),
]
