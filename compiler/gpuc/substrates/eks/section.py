"""The section `cloud.aws` of the spec: the AWS account, the network and the IAM roles of a cluster on EKS."""

import re
from typing import Annotated, ClassVar

from msgspec.structs import replace
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from gpuc.spec.base import OneOf, SpecModel
from gpuc.spec.cluster_network import Cidr
from gpuc.spec.form import Form, Words
from gpuc.spec.node_settings import UserData
from gpuc.spec.substrate import Sections
from gpuc.substrates.eks.pool_section import EksPool, Image, ResourceTags, Zone

Tags = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]],
    Field(min_length=1),
    Words("a map such as {karpenter.sh/discovery: prod-use1}"),
]
"""EC2 tags by key. The value "*" matches any value."""


_KMS_ID, _KMS_ALIAS = r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})", r"alias/[A-Za-z0-9/_-]{1,250}"
_KMS_KEY = rf"{_KMS_ID}|{_KMS_ALIAS}|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{{12}}:(key/{_KMS_ID}|{_KMS_ALIAS})"

SubnetId = Annotated[
    str, Form(r"^subnet-[0-9a-f]{8,17}$", "the id of a subnet such as subnet-0a1b2c3d4e5f6a7b8", str.lower)
]
"""The id of a subnet, for example subnet-0a1b2c3d4e5f6a7b8."""

SecurityGroupId = Annotated[
    str, Form(r"^sg-[0-9a-f]{8,17}$", "the id of a security group such as sg-0a1b2c3d4e5f6a7b8", str.lower)
]
"""The id of a security group, for example sg-0a1b2c3d4e5f6a7b8."""

KmsKey = Annotated[str, Form(rf"^({_KMS_KEY})$", "the id, alias or ARN of a KMS key such as alias/gpu-nodes")]
"""The id, the alias or the ARN of a KMS key, for example alias/gpu-nodes."""


class Subnets(OneOf):
    """Selects the subnets of nodes: by tags, or by ids."""

    one_of = ("tags", "ids")
    in_messages: ClassVar[str] = "{tags: {karpenter.sh/discovery: prod-use1}}"

    tags: Tags | None = None
    """Tags that a subnet must have, all of them. The value "*" matches any value. Instead of `ids`."""

    ids: Annotated[list[SubnetId], Field(min_length=1, max_length=30)] | None = None
    """Ids of the subnets, at least one in each zone of the cluster. At most 30."""


class SecurityGroups(OneOf):
    """Selects the security groups of nodes: by tags, or by ids."""

    one_of = ("tags", "ids")
    in_messages: ClassVar[str] = "{tags: {karpenter.sh/discovery: prod-use1}}"

    tags: Tags | None = None
    """Tags that a security group must have, all of them. The value "*" matches any value. Instead of `ids`."""

    ids: Annotated[list[SecurityGroupId], Field(min_length=1, max_length=5)] | None = None
    """Ids of the security groups. All nodes get all of them. At most 5, the default quota of EC2."""

    efa_self_rule: bool = False
    """Whether the security group allows all traffic from and to itself, as EFA requires. gpuc cannot check this."""


_REGION = Form(
    r"^[a-z]{2}(-[a-z]+)+-\d$", "an AWS region such as eu-central-1", lambda text: text.lower().rstrip("abcdef")
)
_CLUSTER = Form(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", "at most 100 letters, digits, hyphens and underscores")
_ROLE = Form(
    r"^[A-Za-z0-9+=,.@_-]{1,64}$", "the name of an IAM role, without account and path", lambda text: text.split("/")[-1]
)
_PROFILE = replace(
    _ROLE,
    pattern=r"^[A-Za-z0-9+=,.@_-]{1,128}$",
    words="the name of an instance profile: up to 128 letters, digits and +=,.@_-",
)
_QUEUE = Form(
    r"^[A-Za-z0-9_-]{1,80}$", "the name of an SQS queue, without URL or ARN", lambda text: re.split("[/:]", text)[-1]
)
_REGISTRY = Form(r"^[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9._-]+)*$", "a registry such as registry.example.com/eks")


class Aws(OneOf):
    """An EKS cluster with the autoscaler Karpenter: each pool becomes a NodePool and an EC2NodeClass."""

    one_of = ("node_role", "instance_profile")

    region: Annotated[str, _REGION]
    """The AWS region of the EKS cluster. Zones and the registry of EKS add-ons belong to the region."""

    eks_cluster: Annotated[str, _CLUSTER]
    """The name of the EKS cluster that the nodes join. Karpenter and the user data of the nodes contain the name.

    The output of `aws eks describe-cluster` has `network.serviceCidr` as serviceIpv4Cidr.
    """

    node_role: Annotated[str, _ROLE] | None = None
    """The name of the IAM role of nodes. Karpenter creates an instance profile with this role."""

    instance_profile: Annotated[str, _PROFILE] | None = None
    """The name of an IAM instance profile that exists, instead of `nodeRole`, if Karpenter may not create one."""

    zones: Annotated[list[Zone], Field(min_length=1)]
    """The availability zones in which the cluster has subnets. Pools without `zones` use all of them."""

    subnets: Subnets
    """The subnets in which Karpenter starts nodes: `tags`, or `ids`."""

    security_groups: SecurityGroups
    """The security groups of all nodes: `tags`, or `ids`."""

    image: Image
    """The AMI of the node pools without `image`. A change replaces the nodes of these pools."""

    user_data: UserData | None = None
    """Your part of the user data of the nodes in pools without `eks.userData`, which describes the text."""

    interruption_queue: Annotated[str, _QUEUE] | None = None
    """The name of the SQS queue with EC2 interruption events, for example spot interruptions.

    Karpenter reads the queue and drains the affected nodes before EC2 ends them.
    """

    add_on_registry: Annotated[str, _REGISTRY] | None = None
    """The registry from which nodes pull the image of the EFA plugin. Default: the registry of AWS in the region."""

    volume_kms_key: KmsKey | None = None
    """The KMS key that encrypts the volumes of nodes. Default: the key that EC2 uses for EBS volumes of the account.

    The policy of the key must allow the role of Karpenter's controller to use the key. A change replaces all nodes.
    """

    tags: ResourceTags = {}
    """Additional tags of instances and volumes, for example the owner. gpuc adds cluster, pool, environment, the
    cost centre of the pool and, for a pool of a dedicated tenant, the tenant.

    Karpenter also sets the tags on network interfaces, launch templates, fleets, requests for spot instances and
    instance profiles. `tags` of a pool and of a dedicated tenant replace these tags key by key. A change of a tag
    replaces the nodes, because Karpenter does not change the tags of instances.
    """

    s3_gateway_cidrs: list[Cidr] = []
    """The address ranges in the prefix list of the gateway endpoint for S3, if the VPC has one.

    S3 has public addresses behind a gateway endpoint, so that `endpointCidrs` does not include S3. The ranges include
    all buckets of the region; the policy of the endpoint restricts the buckets.
    """


_ROLE_ARN = r"arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/([A-Za-z0-9+=,.@_-]+/)*[A-Za-z0-9+=,.@_-]{1,64}"


def _role_arn(text: str) -> str:
    if not re.fullmatch(_ROLE_ARN, text):
        raise ValueError(
            f'"{text}" is not the ARN of an IAM role; expected an ARN such as '
            "arn:aws:iam::111122223333:role/trainer, in partition aws, aws-cn or aws-us-gov"
        )
    return text


RoleArn = Annotated[
    str,
    AfterValidator(_role_arn),
    WithJsonSchema({"type": "string", "pattern": f"^{_ROLE_ARN}$"}),
    Words("the ARN of an IAM role such as arn:aws:iam::111122223333:role/trainer"),
]
"""The ARN of an IAM role."""


class ServiceAccount(SpecModel):
    """A ServiceAccount whose pods get the permissions of an IAM role from EKS Pod Identity.

    The agent of EKS Pod Identity finds the role by namespace and name of the ServiceAccount. The webhook of EKS Pod
    Identity adds a separate token to the pods. So automountServiceAccountToken concerns only the token for the API
    server.

    Source: Amazon EKS User Guide, Understand how EKS Pod Identity works
    """

    in_messages: ClassVar[str] = "{role: arn:aws:iam::111122223333:role/trainer}"

    role: RoleArn
    """The ARN of the IAM role, in the AWS account of the cluster. gpuc creates neither the role nor its association
    with the ServiceAccount: `clusters/<cluster>/README.md` has the commands. EKS Pod Identity needs no token for the
    API server."""


class TenantTags(SpecModel):
    """AWS tags for the instances and volumes of node pools that are dedicated to a tenant."""

    tags: ResourceTags = {}
    """Additional tags of instances and volumes of the pools that are dedicated to the tenant. They replace tags of the
    cluster key by key; `tags` of the pool replace them.

    A change of a tag replaces the nodes of these pools, because Karpenter does not change the tags of instances.
    """


def pool_section(pool: BaseModel) -> EksPool:
    """Returns the section `eks` of a node pool in the spec."""
    section = getattr(pool, SECTIONS.pool_key)
    assert isinstance(section, EksPool)
    return section


def aws_section(cloud: BaseModel) -> Aws | None:
    """Returns the section `cloud.aws` of a spec; None if the cluster is on another substrate."""
    section = getattr(cloud, SECTIONS.name)
    assert section is None or isinstance(section, Aws)
    return section


SECTIONS = Sections(
    folder="eks",
    name="aws",
    title="EKS with Karpenter",
    cloud=Aws,
    cloud_text=str(Aws.__doc__),
    pool_key="eks",
    pool=EksPool,
    pool_text="What only EKS with Karpenter knows: purchase, reservations, zones, lifetime, image, volume and tags.",
    names_nodes=False,
    instead={"names": "nodes: {static: 2} or nodes: {max: 2}", "disk": "eks: {rootVolume: 200Gi}"},
    fields={"ServiceAccount": ServiceAccount, "Tenant": TenantTags},
)
