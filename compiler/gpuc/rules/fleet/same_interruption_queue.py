from __future__ import annotations

from collections.abc import Iterator

from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec


@fleet_rule(
    "FLT004", source="aws/karpenter-provider-aws v1.14.1 pkg/controllers/interruption/controller.go (Reconcile)"
)
def same_interruption_queue(spec: Spec) -> Iterator[Owned]:
    """Two clusters use the same queue of interruption events.

    Karpenter deletes every message that it receives, also messages about instances of other clusters. The Karpenter of
    each cluster misses about half of its interruption notices, and does not drain these nodes before EC2 ends them.
    Specs do not contain the AWS account: if the two clusters are in different accounts, accept the finding.
    """
    aws = spec.cloud.aws
    if aws.interruption_queue:
        path = ("spec", "cloud", "aws", "interruptionQueue")
        name = aws.interruption_queue
        yield Owned(path, (aws.region, name), f"interruption queue {name} in {aws.region}")
