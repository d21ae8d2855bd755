"""The models of the files in specs/catalog/, where users add data about instance types, images and prices."""

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from gpuc.spec.base import Purchase, SpecModel, TextLine
from gpuc.spec.form import Form, hyphenated
from gpuc.spec.platform import NodeAgent


def _date(text: str) -> str:
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError(f"{ascii(text)[:80]} is not a day; expected a day such as 2026-10-31")


TypeName = Annotated[
    str,
    Form(r"^[a-z][a-z0-9-]{0,30}(\.[a-z0-9-]{1,30})?$", "the name of an instance type such as p5.48xlarge", str.lower),
]
"""The name of an EC2 instance type, for example p5.48xlarge, or of a server, for example dgx-h100."""

AgentName = Annotated[
    str, Form(r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$", "lower-case letters, digits, hyphens and dots", hyphenated)
]
"""The name of a DaemonSet."""

Region = Annotated[str, Form(r"^[a-z]{2}(-[a-z]+)+-\d$", "an AWS region such as us-east-1")]
"""An AWS region, for example us-east-1."""

Driver = Annotated[str, Form(r"^\d{3}\.\d{1,4}(\.\d{1,4})?$", "a driver version such as 580.159.03")]
"""A version of the NVIDIA driver, for example 580.159.03."""

MinorVersion = Annotated[str, Form(r"^1\.\d{2}$", "a minor version of Kubernetes such as 1.35")]
"""A minor version of Kubernetes in quotes, for example "1.35"."""

Day = Annotated[
    str, AfterValidator(_date), WithJsonSchema({"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"})
]  # fmt: skip
"""A day in quotes, for example "2026-10-31"."""


class InstanceRow(SpecModel):
    """The properties of an EC2 instance type. `gpuc catalog import` writes such entries from the EC2 API.

    If gpuc knows the instance type, the entry replaces only the values of its own keys. An entry of an unknown type
    needs arch, vcpu, memoryMib and pods. If an unknown type has GPUs, the entry also needs gpu and gpuCount.
    """

    source: TextLine
    """Where the figures come from, for example "aws ec2 describe-instance-types, 2026-11-20"."""

    arch: Literal["amd64", "arm64"] | None = None
    """The architecture of the CPU."""

    vcpu: Annotated[int, Field(ge=1, le=4096)] | None = None
    """The number of vCPUs."""

    memory_mib: Annotated[int, Field(ge=256, le=2**27)] | None = None
    """The memory as EC2 reports it, in MiB."""

    pods: Annotated[int, Field(ge=4, le=10_000)] | None = None
    """The maximum number of pods of the kubelet without prefix delegation.

    This is the number of network interfaces of the default network card, times the number of IPv4 addresses of an
    interface minus 1, plus 2.
    """

    gpu: str | None = None
    """The id of the GPU, for example h100-sxm5-80gb. `gpuc catalog gpus` lists the ids. Absent without a GPU."""

    gpu_count: Annotated[int, Field(ge=1, le=72)] | None = None
    """The number of GPUs."""

    local_nvme_gb: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """The size of the instance store in decimal gigabytes. Default: 0, no instance store."""

    network_cards: Annotated[int, Field(ge=1, le=64)] | None = None
    """The number of network cards. Default: 1, or `efa` if that is greater."""

    efa: Annotated[int, Field(ge=0, le=64)] | None = None
    """The number of EFA devices. Default: 0."""

    nvswitch: bool | None = None
    """Whether NVSwitches connect the GPUs. Default: false."""

    host_driver: bool | None = None
    """Whether the operating system of the maker of a server contains the NVIDIA driver, as DGX OS. Default: false."""

    dmi_product: Annotated[TextLine, Field(max_length=64)] | None = None
    """The product name of a server: `cat /sys/class/dmi/id/product_name`. Nodes with another name raise an alert."""


class ImageRow(SpecModel):
    """Corrections of the properties of a family of node images, for example of the driver version that gpuc assumes."""

    source: TextLine
    """Where the facts come from, for example the release notes of the image."""

    driver_version: Driver | None = None
    """The version of the NVIDIA driver in the image."""

    kubernetes_min: MinorVersion | None = None
    """The first version of Kubernetes with images of the family."""

    kubernetes_max: MinorVersion | None = None
    """The last version of Kubernetes with images of the family."""

    efa_driver: bool | None = None
    """Whether the image contains the driver of EFA."""

    efa_hugepages_2mi: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """The number of huge pages of 2 MiB that the image allocates at boot on instance types with EFA."""

    root_volume_min_gib: Annotated[int, Field(ge=1, le=65_536)] | None = None
    """The minimum size of the root volume in GiB."""

    unsupported_families: list[str] | None = None
    """Families of instance types whose GPUs the driver in the image does not support."""


class DaemonSetRow(NodeAgent):
    """The resources that one pod of a DaemonSet requests on each node, in all clusters of the fleet.

    If gpuc knows the DaemonSet, for example aws-node, the entry replaces the requests that gpuc assumes.
    """

    in_messages: ClassVar[str] = "{cpu: 100m, memory: 200Mi, source: values of the chart}"

    source: TextLine
    """Where the requests come from, for example the Helm values of the chart."""


class PriceRow(SpecModel):
    """The price of an instance type in a region."""

    instance_type: TypeName
    """The EC2 instance type."""

    region: Region
    """The AWS region."""

    purchase: Purchase
    """The purchase option: reserved, spot or on-demand."""

    hourly_usd: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)]
    """The price of one instance for one hour, in USD."""

    date: Day
    """The day on which the price was valid, in quotes. Of several prices, the price with the latest date counts."""

    source: TextLine
    """Where the price comes from, for example a contract."""


class CatalogFile(SpecModel):
    """A file in specs/catalog/. It adds entries to the catalog of gpuc, and corrects entries of the catalog."""

    api_version: Literal["gpuc.dev/v1alpha1"]
    """The version of the spec language."""

    kind: Literal["Catalog"]
    """Always Catalog."""

    instance_types: dict[TypeName, InstanceRow] = {}
    """EC2 instance types by name."""

    images: dict[Literal["al2", "al2023", "bottlerocket", "ubuntu"], ImageRow] = {}
    """Families of node images by id."""

    daemon_sets: dict[AgentName, DaemonSetRow] = {}
    """DaemonSets that run on the nodes of all clusters, by name."""

    prices: list[PriceRow] = []
    """Prices. A price of the fleet takes precedence over gpuc's price of the same region and purchase option."""
