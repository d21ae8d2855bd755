"""The IAM roles of nodes and of Karpenter's controller, and the interruption queue."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.prerequisites.aws_resources import node_role_command
from gpuc.emit.prerequisites.record import AWS, Chapter, Prerequisite, aws
from gpuc.model import Cluster

POD_IDENTITY_AGENT = "eks-pod-identity-agent"
TRUSTED_BY = "trusted by"
"""The fact of an IAM role: the service that may use the role."""

_SIMULATE = (
    "aws iam simulate-principal-policy --policy-source-arn ARN_OF_THE_CONTROLLER_ROLE --action-names iam:PassRole "
    "--context-entries ContextKeyName=iam:PassedToService,ContextKeyType=string,ContextKeyValues=ec2.amazonaws.com"
)


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
    return Chapter(title, "iam.md.j2", tuple(_prerequisites(cluster)), values)


def _prerequisites(cluster: Cluster) -> Iterator[Prerequisite]:
    settings = cluster.aws
    yield from _nodes(cluster)
    yield pod_identity_agent(cluster)
    namespace = cluster.components["karpenter"].namespace
    yield Prerequisite(
        id=f"pod-identity/{namespace}/karpenter",
        what=f"an IAM role for the controller of Karpenter, bound to the ServiceAccount `{namespace}/karpenter`",
        reason="without the role, Karpenter exits at its start, and later sync waves wait",
        checks=(_association(cluster, namespace, "karpenter"),),
        expected="one association with the role",
        path=AWS,
    )
    if settings.interruption_queue:
        yield Prerequisite(
            id=f"sqs-queue/{settings.interruption_queue}",
            what=f"the SQS queue `{settings.interruption_queue}`, and the permission of the controller to read it",
            reason="Karpenter exits if the queue does not exist, and drains nodes before EC2 takes them back",
            checks=(aws(cluster, "sqs get-queue-url", f"--queue-name {settings.interruption_queue}"),),
            expected="the URL of the queue",
            path=(*AWS, "interruptionQueue"),
        )
    if settings.volume_kms_key:
        yield Prerequisite(
            id=f"kms-key/{settings.volume_kms_key}",
            what=f"a policy of the KMS key `{settings.volume_kms_key}` for the role of the controller",
            reason="without the permissions, EC2 ends each instance when it attaches the encrypted volume",
            checks=(
                aws(cluster, "kms describe-key", f"--key-id {settings.volume_kms_key} --query KeyMetadata.KeyState"),
            ),
            expected='"Enabled"',
            path=(*AWS, "volumeKmsKey"),
        )
    if _uses_spot(cluster):
        yield Prerequisite(
            id="service-linked-role/spot.amazonaws.com",
            what="the service-linked role of EC2 for spot instances",
            reason="the first spot instance of an AWS account cannot start without the role",
            checks=("aws iam get-role --role-name AWSServiceRoleForEC2Spot --query Role.Arn",),
            expected="the ARN of the role",
            path=("spec", "pools"),
        )


def _nodes(cluster: Cluster) -> Iterator[Prerequisite]:
    """Yields the role of nodes, its access entry, and the permission of the controller to give the role to EC2.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/controllers/nodeclass/validation.go (a dry run of RunInstances);
    website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml
    (AllowPassingInstanceRole permits only KarpenterNodeRole-<cluster>)
    """
    settings = cluster.aws
    name = settings.node_role or settings.instance_profile
    path = (*AWS, "nodeRole" if settings.node_role else "instanceProfile")
    command = node_role_command(settings)
    arn = f'"$({command} --output text)"'
    yield Prerequisite(
        id=f"{'iam-role' if settings.node_role else 'instance-profile'}/{name}",
        what=f"the {'IAM role' if settings.node_role else 'instance profile'} `{name}` for nodes",
        reason="nodes join the cluster and pull images with this role",
        checks=(command,),
        expected="the ARN of the role",
        path=path,
        facts={TRUSTED_BY: "ec2.amazonaws.com"} if settings.node_role else {},
    )
    entry = f"--cluster-name {settings.eks_cluster} --principal-arn {arn}"
    yield Prerequisite(
        id=f"access-entry/{name}",
        what=f"an EKS access entry of type EC2_LINUX for the role of `{name}`",
        reason="without the entry, the kubelets of the nodes cannot register",
        checks=(aws(cluster, "eks describe-access-entry", entry),),
        expected="an entry of type EC2_LINUX",
        path=path,
    )
    yield Prerequisite(
        id=f"pass-role/{name}",
        what=f"the permission `iam:PassRole` of the controller for the role of `{name}`",
        reason="without the permission, no EC2NodeClass becomes Ready, and no node starts",
        checks=(f"{_SIMULATE} --resource-arns {arn} --query 'EvaluationResults[0].EvalDecision'",),
        expected='"allowed"',
        path=path,
    )


def pod_identity_agent(cluster: Cluster) -> Prerequisite:
    """Returns the EKS add-on that gives credentials to pods.

    Source: Amazon EKS User Guide, pod-id-agent-setup; aws/karpenter-provider-aws v1.14.1 pkg/operator/operator.go
    """
    return Prerequisite(
        id=f"eks-addon/{POD_IDENTITY_AGENT}",
        what=f"the EKS add-on `{POD_IDENTITY_AGENT}`; EKS Auto Mode contains it",
        reason="without the agent, an association gives a pod no credentials",
        checks=(
            aws(
                cluster,
                "eks describe-addon",
                f"--cluster-name {cluster.aws.eks_cluster} --addon-name {POD_IDENTITY_AGENT} --query addon.status",
            ),
        ),
        expected='"ACTIVE"',
        path=AWS,
    )


def _association(cluster: Cluster, namespace: str, account: str) -> str:
    arguments = f"--cluster-name {cluster.aws.eks_cluster} --namespace {namespace} --service-account {account}"
    return aws(cluster, "eks list-pod-identity-associations", arguments)


def _uses_spot(cluster: Cluster) -> bool:
    return any("spot" in pool.spec.purchase for pool in cluster.pools)
