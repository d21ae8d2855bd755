"""The IAM roles of nodes and of Karpenter's controller, and the interruption queue."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.prerequisites.aws_resources import node_role_command
from gpuc.emit.prerequisites.record import AWS, Chapter, Row, written
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about IAM roles."""
    settings = cluster.aws
    values = {
        "karpenter": cluster.components["karpenter"],
        "node_role_command": node_role_command(settings),
        "has_other_role": settings.node_role != f"KarpenterNodeRole-{settings.eks_cluster}",
        "has_other_queue": settings.interruption_queue not in (None, settings.eks_cluster),
        "uses_spot": _uses_spot(cluster),
    }
    title = "IAM roles" + (" and the interruption queue" if settings.interruption_queue else "")
    return written(cluster, "iam", title, _rows(cluster), **values)


def _rows(cluster: Cluster) -> Iterator[Row]:
    """Yields the records.

    Sources: Amazon EKS User Guide, pod-id-agent-setup; aws/karpenter-provider-aws v1.14.1 pkg/operator/operator.go,
    pkg/controllers/nodeclass/validation.go (a dry run of RunInstances) and
    website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml
    (AllowPassingInstanceRole permits only KarpenterNodeRole-<cluster>)
    """
    settings, namespace = cluster.aws, cluster.components["karpenter"].namespace
    path = (*AWS, "nodeRole" if settings.node_role else "instanceProfile")
    command = node_role_command(settings)
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
    return any("spot" in pool.spec.purchase for pool in cluster.pools)
