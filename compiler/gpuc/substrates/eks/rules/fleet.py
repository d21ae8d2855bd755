"""Rules about values that only one cluster of a fleet on EKS may have, for example a capacity reservation."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity
from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec
from gpuc.substrates.eks.section import aws_section, pool_section


@fleet_rule("FLT001")
def same_eks_cluster(spec: Spec) -> Iterator[Owned]:
    """Two specs describe the same EKS cluster."""
    if aws := aws_section(spec.cloud):
        path = ("spec", "cloud", "aws", "eksCluster")
        yield Owned(path, (aws.region, aws.eks_cluster), f"EKS cluster {aws.eks_cluster} in {aws.region}")


@fleet_rule("FLT003", Severity.WARNING)
def same_reservation(spec: Spec) -> Iterator[Owned]:
    """Two clusters use the same capacity reservation."""
    for name, pool in spec.pools.items():
        reservations = pool_section(pool).reservations
        for index, id_ in enumerate(reservations.ids if reservations else []):
            yield Owned(("spec", "pools", name, "eks", "reservations", "ids", index), (id_,), f"reservation {id_}")


@fleet_rule("FLT004")
def same_interruption_queue(spec: Spec) -> Iterator[Owned]:
    """Two clusters use the same SQS queue of interruption events."""
    aws = aws_section(spec.cloud)
    if aws and aws.interruption_queue:
        path = ("spec", "cloud", "aws", "interruptionQueue")
        name = aws.interruption_queue
        yield Owned(path, (aws.region, name), f"interruption queue {name} in {aws.region}")
