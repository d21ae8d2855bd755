from __future__ import annotations

from collections.abc import Iterator

from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec


@fleet_rule("FLT001")
def same_eks_cluster(spec: Spec) -> Iterator[Owned]:
    """Two specs describe the same EKS cluster.

    Argo CD applies the objects of both specs to one cluster. Objects with the same name change at every sync. A copied
    spec needs its own eksCluster. Specs do not contain the AWS account: if the two clusters are in different accounts,
    accept the finding.
    """
    aws = spec.cloud.aws
    path = ("spec", "cloud", "aws", "eksCluster")
    yield Owned(path, (aws.region, aws.eks_cluster), f"EKS cluster {aws.eks_cluster} in {aws.region}")
