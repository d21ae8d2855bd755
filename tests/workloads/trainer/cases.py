"""TrainJobs with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

CASES = [
    Case("TrainJob", {"spec.runtimeRef": DELETE}, "spec.runtimeRef"),
    Case("TrainJob", {"spec.trainer": {"numNodes": "2"}}, "spec.trainer.numNodes"),
    Case("TrainJob", {"metadata.name": "1a"}),
    Case("TrainJob", {"spec.runtimeRef": {"name": "other"}}, None),
    Case("TrainJob", {"spec.trainer": {"numNodes": 2}}, None),
    Case("TrainJob", {"spec.trainer": {"numNodes": 3}}, None),
]
