from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP115")
def zone_outside_region(cluster: Cluster) -> Findings:
    """A zone of the cluster is not in the region of the cluster.

    The subnets of an EKS cluster are in the zones of one region.
    """
    aws = cluster.aws
    for index, zone in enumerate(aws.zones):
        if zone[:-1] != aws.region:
            message = f"zone {zone} is not in region {aws.region}; expected a zone of region {aws.region}"
            related = [Related(f"the region is {aws.region}", ("spec", "cloud", "aws", "region"))]
            yield ("spec", "cloud", "aws", "zones", index), message, "", related
