"""LeaderWorkerSets with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

CASES = [
    Case("LeaderWorkerSet", {}, None),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.sizes": 4}),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.workerTemplate": DELETE}),
    Case("LeaderWorkerSet", {"spec.startupPolicy": "Leader"}),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.restartPolicy": "Never"}),
]
WEBHOOK_CASES = [
    Case("LeaderWorkerSet", {"metadata.name": "1a"}),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.size": 0}),
    Case(
        "LeaderWorkerSet",
        {"spec.leaderWorkerTemplate.subGroupPolicy": {"subGroupSize": 3}, "spec.leaderWorkerTemplate.size": 6},
        None,
    ),
    Case(
        "LeaderWorkerSet",
        {"spec.leaderWorkerTemplate.subGroupPolicy": {"subGroupSize": 4}, "spec.leaderWorkerTemplate.size": 6},
        "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize",
    ),
    Case(
        "LeaderWorkerSet",
        {
            "spec.rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxUnavailable": 0, "maxSurge": 0},
            }
        },
        "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable",
    ),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
