"""The section `eks` of a node pool in the spec: purchase options, reservations, lifetime, image and volume of nodes."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpuc.spec.base import Count, Purchase, Seconds, Shorthand, SpecModel, VolumeBytes
from gpuc.spec.form import Form, Words
from gpuc.spec.metadata import LabelValue, printable
from gpuc.spec.node_settings import UserData

Zone = Annotated[
    str, Form(r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$", "the name of a zone such as us-east-1a, not its id", str.lower)
]
"""An availability zone, for example us-east-1a."""


def _utc_time(text: str) -> str:
    try:
        year, month, day, hour, minute, second = map(int, re.findall(r"\d+", text))
        datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise ValueError(f'"{text}" is not a time in UTC; expected a time such as 2027-01-31T11:30:00Z') from None
    return text


def _in_utc(text: str) -> str:
    """Returns a time with an offset from UTC as a time in UTC; an empty string if the text is no such time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment.tzinfo else ""


UtcTime = Annotated[
    str,
    Form(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", "a time in UTC such as 2027-01-31T11:30:00Z", _in_utc),
    AfterValidator(_utc_time),
]
"""A time in UTC, for example "2027-01-31T11:30:00Z"."""


ResourceTags = Annotated[
    dict[
        Annotated[
            str,
            Form(
                r"^[A-Za-z0-9_.:/=+@-]([A-Za-z0-9 _.:/=+@-]{0,126}[A-Za-z0-9_.:/=+@-])?$",
                "1 to 128 letters, digits, spaces and _ . : / = + - @, without a space at the start or end",
            ),
            AfterValidator(printable),
        ],
        Annotated[
            str,
            Form(r"^[A-Za-z0-9 _.:/=+@-]{0,256}$", "at most 256 letters, digits, spaces and _ . : / = + - @"),
            AfterValidator(printable),
        ],
    ],
    Field(max_length=40),
    Words("a map such as {owner: ml-team}"),
]
"""AWS tags by key, with the characters that all AWS services allow."""


class Image(Shorthand):
    """The AMI of nodes: an alias of a public AMI (al2023@v20260815), or the family and the id of your own AMI."""

    short_for: ClassVar[str] = "alias"

    alias: (
        Annotated[
            str,
            Form(
                r"^(al2|al2023|bottlerocket)@(latest|v?[0-9][0-9.]*)$",
                "an AMI family (al2023, bottlerocket or al2), @ and a version, such as al2023@v20260815",
            ),
        ]
        | None
    ) = None
    """AMI family and version, for example al2023@v20260815. Karpenter finds the AMI."""

    family: Literal["AL2023", "Bottlerocket", "Ubuntu"] | None = None
    """The AMI family of your AMI, on which the form of the user data depends. Together with `id`."""

    id: (
        Annotated[str, Form(r"^ami-[0-9a-f]{8,17}$", "the id of an AMI such as ami-0c3f1a2b4d5e6f708", str.lower)]
        | None
    ) = None
    """The id of your AMI. Together with `family`, instead of `alias`."""

    @model_validator(mode="after")
    def _alias_or_ami(self) -> Self:
        if (self.alias is None) == (self.id is None) or (self.id is None) != (self.family is None):
            raise ValueError("write an alias such as al2023@v20260815, or family and id")
        return self


class CapacityBlock(SpecModel):
    """A capacity block for ML, which ends at a fixed time."""

    in_messages: ClassVar[str] = '{ends: "2027-01-31T11:30:00Z"}'

    ends: UtcTime
    """The end of the capacity block. EC2 begins to terminate the instances 30 minutes earlier, and Karpenter begins to
    drain the nodes 40 minutes earlier."""


ReservationId = Annotated[
    str,
    Form(r"^cr-[0-9a-f]{8,17}$", "cr- and 8 to 17 hexadecimal digits, such as cr-0a1b2c3d4e5f6a7b8", str.lower),
]
"""The id of a capacity reservation or of a capacity block."""


class Reservations(SpecModel):
    """The EC2 capacity reservations in which Karpenter starts the reserved nodes of a node pool."""

    in_messages: ClassVar[str] = "{ids: [cr-0a1b2c3d4e5f6a7b8]}"

    ids: Annotated[list[ReservationId], Field(min_length=1)]
    """Ids of capacity reservations or capacity blocks. Karpenter starts reserved nodes only in these reservations, and
    nodes of other purchase options in no reservation."""

    instances: Count | None = None
    """The number of instances of all reservations together. gpuc cannot check this.

    A static pool with reserved capacity only replaces nodes by itself if the number is greater than `nodes.static`.
    """

    block: CapacityBlock | None = None
    """The end of the capacity blocks. Absent if the reservations are no capacity blocks."""


def _default_purchase(fields: dict[str, Any]) -> list[Purchase]:
    """Returns the purchase options of a pool whose spec contains none. `fields` are the fields before `purchase`."""
    return ["reserved"] if fields.get("reservations") else ["on-demand"]


class EksPool(SpecModel):
    """Settings of a node pool for EKS with Karpenter: purchase options, zones, lifetime, image, volume and tags."""

    in_messages: ClassVar[str] = "{purchase: [on-demand]}"

    reservations: Reservations | None = None
    """The EC2 reservations for the purchase option reserved."""

    purchase: Annotated[list[Purchase], Field(min_length=1)] = Field(default_factory=_default_purchase)
    """Allowed purchase options. Karpenter prefers reserved, then spot, then on-demand.

    Default: reserved if the pool has reservations, on-demand if the pool has none. A pool with reservations buys other
    capacity only if this list contains it. Without spot, pods of `runs` have karpenter.sh/do-not-disrupt.
    """

    zones: Annotated[list[Zone], Field(min_length=1)] | None = None
    """The zones of the pool. Default: the zones of the cluster. A pool with EFA must have one zone."""

    idle_after: Seconds | None = None
    """The time after which Karpenter removes an empty node. Default: 30m for purpose training, 10m for other
    purposes."""

    expire_after: Seconds | None = None
    """The maximum lifetime of a node. Default: nodes do not expire.

    When a node expires, Karpenter drains the node at once, without a disruption budget and before a new node has
    started. Nodes that started together expire together. New AMIs do not need this field: Karpenter replaces the nodes
    one after another.
    """

    placement: Literal["cluster"] | None = None
    """The strategy of the EC2 placement group for all nodes of the pool. Default: no placement group.

    gpuc does not create the placement group CLUSTER-POOL: `clusters/<cluster>/README.md` has the command.
    """

    image: Image | None = None
    """The AMI of the pool. Default: the AMI of the cluster."""

    user_data: UserData | None = None
    """Your part of the user data of the nodes. Default: `cloud.aws.userData`. A change replaces all nodes (drift).

    AL2023, AL2 and Ubuntu: a script that begins with #!. The script runs once, as root, before the kubelet starts for
    the first time. The node joins the cluster only after the script has ended; Karpenter deletes a node that has not
    joined after 15 minutes. On AL2023, the script runs after the part of gpuc. If it fails on AL2023 or Ubuntu, the
    serial console has a line, and the node takes no work: a GPU node on AL2023 keeps its taint and has the condition
    GpucGpusReady=False with the reason UserData; other nodes do not join. On AL2, gpuc does not judge the script.

    Bottlerocket: settings in TOML, in tables that gpuc does not set.

    EC2 allows 16 KiB for all parts. User data is not secret: pods and users of the AWS account can read it.
    """

    root_volume: VolumeBytes | None = None
    """The size of the root volume of a node, an EBS volume. Default: 200Gi with GPUs, 100Gi without."""

    root_volume_throughput: Annotated[int, Field(ge=125, le=1000)] | None = None
    """Throughput of the root volume in MiB/s. Default: 1000 for GPU nodes that have no local disks for images, and 125
    for other nodes."""

    root_volume_iops: Annotated[int, Field(ge=3000, le=16_000)] | None = None
    """I/O operations per second of the root volume. Default: four for each MiB/s of throughput, at least 3000."""

    cost_centre: LabelValue | None = None
    """The cost centre of the nodes, a tag of instances and volumes. Default: the cost centre of the dedicated tenant.

    Pools that several tenants share, and pools whose tenants may change, need this field: Karpenter replaces all nodes
    if a tag changes, so the tag does not depend on queues.
    """

    tags: ResourceTags = {}
    """Additional tags of instances and volumes of the pool. They replace tags of the cluster and of the dedicated
    tenant key by key.

    A change of a tag replaces the nodes of the pool, because Karpenter does not change the tags of instances.
    """
