from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP115")
def zone_outside_region(cluster: Cluster) -> Findings:
    """A zone of the cluster does not lie in its region.

    An EKS cluster has the zones of one region.
    """
    aws = cluster.aws
    for index, zone in enumerate(aws.zones):
        if zone[:-1] != aws.region:
            yield ("spec", "cloud", "aws", "zones", index), f"{zone} is not in {aws.region}"
