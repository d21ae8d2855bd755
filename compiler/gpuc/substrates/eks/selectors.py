"""How a spec selects what exists in the AWS account: subnets, security groups and the KMS key of node volumes."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from gpuc.spec.base import OneOf
from gpuc.spec.form import Form, Words

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
