"""Network access of tenants: exceptions to the NetworkPolicies that deny all other traffic."""

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, WithJsonSchema, model_validator
from pydantic_core import CoreSchema

from gpuc.spec.base import Name, Reason, SpecModel
from gpuc.spec.cluster_network import Cidr, Cidrs
from gpuc.spec.form import Words, text_error
from gpuc.spec.metadata import PodLabels
from gpuc.spec.platform import NamespaceName

_HOST = r"^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$"
_HOST_WORDS = "a host name such as search.example.com, or *.example.com for all names below a domain"
_HOST_LENGTH, _LABEL_LENGTH = 253, 63


def _host(text: str) -> str:
    parts = text.split(".")
    if not re.fullmatch(_HOST, text) or len(text) > _HOST_LENGTH or any(len(part) > _LABEL_LENGTH for part in parts):
        bare = re.sub(r"^[a-z]+://", "", text.lower()).partition("/")[0]
        raise text_error(_HOST_WORDS, bare if bare != text and re.fullmatch(_HOST, bare) else "")
    return text


Host = Annotated[
    str,
    AfterValidator(_host),
    WithJsonSchema({"type": "string", "pattern": _HOST, "maxLength": _HOST_LENGTH}),
    Words(_HOST_WORDS),
]
"""A host name such as search.example.com, or *.example.com for all host names that end with .example.com."""


class Port(SpecModel):
    """A port with its protocol. In the spec, a number alone means a TCP port."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """The number of the port that the server listens on: the port of the pod, not of its Service."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    """The transport protocol of the port."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"port": value}
        if not isinstance(value, dict):
            number = value if isinstance(value, str) and value.isdecimal() else ""
            raise text_error("a port number such as 443, or a map with port and protocol", number)
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        full = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [dict(full["properties"]["port"]), full], "description": cls.__doc__ or ""}


PortOrNumber = Annotated[Port, Words("a port number from 1 to 65535, or a map with port and protocol")]
Ports = Annotated[list[PortOrNumber], Field(min_length=1)]


class Allowed(SpecModel):
    """The keys that every exception for network traffic has: ports and namespaces, and the reason of the exception."""

    ports: Ports
    """The ports of the server to which clients may connect."""

    why: Reason
    """The reason for the exception. The NetworkPolicy has the reason as an annotation."""

    only: Annotated[list[Name], Field(min_length=1)] | None = None
    """The namespaces of the tenant that have the exception. Default: all namespaces of the tenant."""

    only_pods: PodLabels | None = None
    """The labels of the tenant's pods that have the exception. Default: all pods.

    Members of the tenant choose the labels of their pods."""


class Internet(Allowed):
    """Access of a tenant's pods to the internet: to all public IPv4 addresses.

    Pods get no access to private and other special addresses, such as the instance metadata service. Pods also get no
    access to the address ranges of pods, Services, endpoints and the API server in the section `network` of the spec.
    """

    in_messages: ClassVar[str] = "{ports: [443], why: data sets}"


class Egress(Allowed):
    """A destination outside of the cluster to which pods of the tenant may connect. Each entry has one destination."""

    in_messages: ClassVar[str] = "{cidr: 10.20.0.0/16, ports: [443], why: object store}"

    cidr: Cidr | None = None
    """The address range of the destination. It must not contain addresses of pods. Instead of `cidrs` and `names`."""

    cidrs: Cidrs | None = None
    """Several address ranges, in one NetworkPolicy. They must not contain addresses of pods."""

    names: Annotated[list[Host], Field(min_length=1)] | None = None
    """Host names, such as huggingface.co or *.hf.co. Requires the network policy engine cilium.

    Pods may connect to the addresses that the cluster's DNS returns for these names. The owner of a name chooses its
    addresses, also private addresses outside of the cluster.
    """

    @model_validator(mode="after")
    def _one_destination(self) -> Self:
        if sum(target is not None for target in (self.cidr, self.cidrs, self.names)) != 1:
            raise ValueError("write exactly one of cidr, cidrs and names")
        return self

    @property
    def ranges(self) -> list[Cidr]:
        """The address ranges of the destination; empty for a destination with DNS names."""
        return list(self.range_paths.values())

    @property
    def range_paths(self) -> dict[tuple[str | int, ...], Cidr]:
        """The address ranges by path in the entry, such as ("cidrs", 0); empty for a destination with DNS names."""
        if self.cidr is not None:
            return {("cidr",): self.cidr}
        return {("cidrs", index): cidr for index, cidr in enumerate(self.cidrs or ())}


class Ingress(Allowed):
    """Clients that may connect to pods of the tenant. Each entry has one source."""

    in_messages: ClassVar[str] = "{namespace: ingress-nginx, ports: [8000], why: public API}"

    namespace: NamespaceName | None = None
    """A namespace of the platform, whose pods may connect."""

    pods: PodLabels | None = None
    """The labels of the pods in `namespace` that may connect. Default: all pods of the namespace."""

    cidrs: Cidrs | None = None
    """Address ranges of clients outside of the cluster, or of load balancers. They must not contain addresses of pods.

    An ALB, and an NLB without client IP preservation, connects to IP targets from its own addresses: write the ranges
    of its subnets. An NLB with client IP preservation keeps the addresses of the clients, but not those of its health
    checks: write the ranges of the clients and of its subnets.
    """

    internet: bool = False
    """Whether all public IPv4 addresses may connect, for a public API behind an NLB with client IP preservation."""

    health_checks: Cidrs | None = None
    """The ranges of the subnets of the NLB, beside `internet`. They must not contain addresses of pods.

    An NLB sends its health checks from its private addresses in these subnets, also with client IP preservation.
    Without these ranges, all targets are unhealthy. The NLB then sends requests to all targets, also to those that do
    not answer. A health check uses TCP, on one of the `ports`.
    """

    gateway: bool = False
    """Whether Ingresses and Gateways of Cilium may connect. Requires the network policy engine cilium.

    Policies cannot distinguish the clients behind Cilium's proxy: pods of other tenants can also be among them.
    """

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.namespace is not None) + (self.cidrs is not None) + self.internet + self.gateway != 1:
            raise ValueError("write exactly one of namespace, cidrs, internet: true and gateway: true")
        if self.pods is not None and self.namespace is None:
            raise ValueError("pods are labels of pods in a namespace; write namespace too")
        if self.health_checks is not None and not self.internet:
            raise ValueError("healthChecks are ranges beside internet: true; write other ranges in cidrs")
        return self


class Network(SpecModel):
    """Exceptions to the NetworkPolicies that deny all other traffic of the tenant."""

    egress: list[Egress] = []
    """Destinations outside of the cluster to which pods of the tenant may connect."""

    internet: Internet | None = None
    """The internet, to which pods of the tenant may connect. Default: no access."""

    ingress: list[Ingress] = []
    """Clients outside of the tenant that may connect to pods of the tenant."""

    # Off, because most training and inference pods do not need the API server.
    api_server: bool = False
    """Whether pods of the tenant may connect to the API server, for example to start pods with Ray or Spark."""

    metrics: list[PortOrNumber] = Field(default_factory=lambda: [Port(port=8080)])
    """Ports of the tenant's pods that Prometheus may scrape. Default: TCP port 8080."""
