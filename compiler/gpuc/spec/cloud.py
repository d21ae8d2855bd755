"""Facts about the AWS account and the EKS cluster. The spec declares them because gpuc has no access to the account."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import SpecModel
from gpuc.spec.pools import Image, Zone

Cidr = Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$")]
"""An IPv4 address range, for example 10.0.0.0/16."""

Cidrs = Annotated[list[Cidr], Field(min_length=1)]

Tags = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]],
    Field(min_length=1),
]
"""EC2 tags by key. The value "*" matches any value."""


ResourceTags = Annotated[
    dict[
        Annotated[
            str, Field(pattern=r"^[A-Za-z0-9_.:/=+@-]([A-Za-z0-9 _.:/=+@-]*[A-Za-z0-9_.:/=+@-])?$", max_length=128)
        ],
        Annotated[str, Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]*$", max_length=256)],
    ],
    Field(max_length=40),
]
"""EC2 tags by key, with the characters that all AWS services allow."""


class Subnets(SpecModel):
    """Selects the subnets of nodes."""

    tags: Tags
    """Tags of the subnets."""


class SecurityGroups(SpecModel):
    """Selects the security groups of nodes."""

    tags: Tags
    """Tags of the security groups."""

    efa_self_rule: bool = False
    """Whether the security group allows all traffic from and to itself, as EFA requires. gpuc cannot check this."""


class Aws(SpecModel):
    """An EKS cluster."""

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """The AWS region."""

    eks_cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
    """The name of the EKS cluster."""

    node_role: Annotated[str, Field(pattern=r"^[A-Za-z0-9+=,.@_-]{1,64}$")]
    """The name of the IAM role of nodes."""

    zones: Annotated[list[Zone], Field(min_length=1)]
    """The availability zones in which the cluster has subnets."""

    subnets: Subnets
    """Selects the subnets of nodes."""

    security_groups: SecurityGroups
    """Selects the security groups of nodes."""

    image: Image
    """The AMI of node pools that name no image."""

    interruption_queue: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")] | None = None
    """The name of the SQS queue with EC2 interruption events for Karpenter."""

    add_on_registry: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9._-]+)*$")] | None = None
    """The registry with the images of EKS add-ons. Default: the registry of AWS in the region."""

    tags: ResourceTags = {}
    """Additional tags of instances and volumes, for example the owner. gpuc adds cluster, pool, environment and, for a
    pool with only one tenant, tenant and cost centre."""

    network_policy_engine: Literal["vpc-cni", "cilium", "cilium-on-vpc-cni", "calico", "none"]
    """The program that enforces NetworkPolicies, or none. gpuc does not install the program.

    With cilium, Cilium is the only CNI plugin of the cluster. gpuc refuses cilium-on-vpc-cni (Cilium chained on the VPC
    CNI) and calico: which packets their policies match was not verified.
    """

    pod_cidrs: Cidrs
    """The address ranges of pods."""

    service_cidr: Cidr | None = None
    """The address range of Services: serviceIpv4Cidr of `aws eks describe-cluster`.

    With the VPC CNI, a policy for the API server must contain the first address of the range. Required if a tenant sets
    `network.apiServer`.
    """

    endpoint_cidrs: Cidrs
    """The address ranges of the interface endpoints in the VPC for object store, image registry and token service."""

    s3_gateway_cidrs: list[Cidr] = []
    """The address ranges in the prefix list of the gateway endpoint for S3, if the VPC has one.

    S3 has public addresses behind a gateway endpoint, so that `endpointCidrs` does not include S3. The ranges include
    all buckets of the region; the policy of the endpoint restricts the buckets.
    """

    api_server_cidrs: Cidrs
    """The address ranges of the API server in the VPC."""

    node_local_dns: bool = False
    """Whether nodes run NodeLocal DNSCache, and pods may connect to the cache. gpuc does not install the cache."""


class Cloud(SpecModel):
    """The cloud provider of the cluster."""

    aws: Aws
    """An EKS cluster."""
