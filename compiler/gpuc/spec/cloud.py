"""Facts about the cloud account and the EKS cluster, declared because no compiler can see them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import SpecModel
from gpuc.spec.pools import Image, Zone

Cidr = Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$")]
"""An IPv4 range."""

Cidrs = Annotated[list[Cidr], Field(min_length=1)]

Tags = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]],
    Field(min_length=1),
]
"""EC2 tags by key; "*" matches any value."""


class Subnets(SpecModel):
    """Which subnets nodes start in."""

    tags: Tags
    """Tags that they carry."""


class SecurityGroups(SpecModel):
    """Which security groups nodes carry."""

    tags: Tags
    """Tags that they carry."""

    efa_self_rule: bool = False
    """Declared: the group allows all protocols from itself and to itself, which EFA needs."""


class Aws(SpecModel):
    """An EKS cluster."""

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """The AWS region."""

    eks_cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
    """The EKS cluster's name."""

    node_role: Annotated[str, Field(pattern=r"^[A-Za-z0-9+=,.@_-]{1,64}$")]
    """The IAM role of nodes, by name."""

    zones: Annotated[list[Zone], Field(min_length=1)]
    """The zones that the cluster has subnets in."""

    subnets: Subnets
    """Which subnets nodes start in."""

    security_groups: SecurityGroups
    """Which security groups nodes carry."""

    image: Image
    """The machine image of pools that name none."""

    interruption_queue: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")] | None = None
    """The SQS queue on which EC2 announces interruptions."""

    network_policy_engine: Literal["vpc-cni", "cilium", "calico", "none"]
    """Declared: who enforces NetworkPolicies."""

    pod_cidrs: Cidrs
    """Declared: the ranges that pod addresses come from."""

    endpoint_cidrs: Cidrs
    """Declared: where the VPC endpoints of object store, image registry and token service are."""

    api_server_cidrs: Cidrs
    """Declared: where the API server's private addresses are."""


class Cloud(SpecModel):
    """Where the cluster runs."""

    aws: Aws
    """An EKS cluster."""
