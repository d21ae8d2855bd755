"""The chapter of the README about the IAM roles that Karpenter needs, and about its interruption queue."""

from collections.abc import Iterator
from pathlib import Path

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.substrates.eks.chapters import AWS
from gpuc.substrates.eks.scaling import aws, eks
from gpuc.substrates.eks.section import Aws

FILES = Path(__file__).with_suffix("")


def iam(cluster: Cluster) -> Chapter:
    """Returns the chapter about the IAM roles of nodes and of Karpenter's controller, and the interruption queue."""
    settings = aws(cluster)
    values = {
        "karpenter": cluster.components["karpenter"],
        "node_role_command": _node_role_command(settings),
        "has_other_role": settings.node_role != f"KarpenterNodeRole-{settings.eks_cluster}",
        "has_other_queue": settings.interruption_queue not in (None, settings.eks_cluster),
        "uses_spot": _uses_spot(cluster),
    }
    title = "IAM roles" + (" and the interruption queue" if settings.interruption_queue else "")
    return written(cluster, FILES, title, _iam_rows(cluster), **values)


def _iam_rows(cluster: Cluster) -> Iterator[Row]:
    """Yields the records.

    Sources: Amazon EKS User Guide, pod-id-agent-setup; aws/karpenter-provider-aws v1.14.1 pkg/operator/operator.go,
    pkg/controllers/nodeclass/validation.go (a dry run of RunInstances) and
    website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml
    (AllowPassingInstanceRole permits only KarpenterNodeRole-<cluster>)
    """
    settings, namespace = aws(cluster), cluster.components["karpenter"].namespace
    path = (*AWS, "nodeRole" if settings.node_role else "instanceProfile")
    command = _node_role_command(settings)
    known = {
        "name": settings.node_role or settings.instance_profile or "",
        "command": command,
        "arn": f'"$({command} --output text)"',
    }
    role = "iam-role" if settings.node_role else "instance-profile"
    yield from ((entry, path, known) for entry in (role, "access-entry", "pass-role"))
    yield "eks-addon/eks-pod-identity-agent", AWS, {}
    yield "pod-identity", AWS, {"name": f"{namespace}/karpenter", "namespace": namespace}
    if settings.interruption_queue:
        yield "sqs-queue", (*AWS, "interruptionQueue"), {"name": settings.interruption_queue}
    if settings.volume_kms_key:
        yield "kms-key", (*AWS, "volumeKmsKey"), {"name": settings.volume_kms_key}
    if _uses_spot(cluster):
        yield "service-linked-role/spot.amazonaws.com", ("spec", "pools"), {}


def _uses_spot(cluster: Cluster) -> bool:
    return any("spot" in eks(pool).spec.purchase for pool in cluster.pools)


def _node_role_command(aws: Aws) -> str:
    """Returns the command that prints the ARN of the IAM role of nodes, without its output format."""
    if aws.node_role:
        return f"aws iam get-role --role-name {aws.node_role} --query Role.Arn"
    profile = f"--instance-profile-name {aws.instance_profile}"
    return f"aws iam get-instance-profile {profile} --query 'InstanceProfile.Roles[0].Arn'"
