"""Tenants: members, namespaces and network access."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import Accept, LabelValue, Name, SpecModel, TextLine
from gpuc.spec.cloud import Cidr


class Port(SpecModel):
    """A port with its protocol."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """Port number."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    """Transport protocol."""


Ports = Annotated[list[Port], Field(min_length=1)]


class Egress(SpecModel):
    """A network outside the cluster that a tenant's pods may call."""

    cidr: Cidr
    """The address range. It must not contain addresses of pods."""

    ports: Ports
    """The ports that pods may call."""

    why: TextLine
    """The reason for the exception."""


class Ingress(SpecModel):
    """A namespace of the platform that may call a tenant's pods."""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]
    """The calling namespace."""

    ports: Ports
    """The ports that the namespace may call."""

    why: TextLine
    """The reason for the exception."""


class Network(SpecModel):
    """Exceptions to the default deny of NetworkPolicies."""

    egress: list[Egress] = []
    """Networks outside the cluster that pods of the tenant may call."""

    ingress: list[Ingress] = []
    """Namespaces of the platform that may call pods of the tenant."""

    metrics: list[Port] = Field(default_factory=lambda: [Port(port=8080)])
    """Ports that Prometheus may scrape."""


class Members(SpecModel):
    """The members of a tenant."""

    groups: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s]+$")]], Field(min_length=1)
    ]
    """Groups of the identity provider."""

    role: Literal["view", "edit", "admin"]
    """view reads objects, edit runs workloads, admin also manages service accounts.

    No role may raise the quota or open the network of the tenant."""


class Namespace(SpecModel):
    """A namespace of a tenant."""

    pod_security: Literal["privileged", "baseline", "restricted"]
    """The enforced Pod Security level. EFA pods need privileged because of the capability IPC_LOCK."""

    nccl: Name | None = None
    """The NCCL profile whose ConfigMap is in the namespace."""

    leaving: bool = False
    """Whether the namespace will be removed. Its LocalQueues admit no new work; running work continues.

    The first of two commits; the second commit removes the namespace from the spec."""


class Tenant(SpecModel):
    """A team with its own namespaces, quota and bill."""

    members: Members
    """The members of the tenant."""

    cost_centre: LabelValue
    """The cost centre that pays, as a label on namespaces."""

    isolation: Literal["namespace", "network", "dedicated"]
    """namespace: RBAC, quotas and Pod Security. network: also NetworkPolicies. dedicated: also dedicated pools."""

    namespaces: Annotated[dict[Name, Namespace], Field(min_length=1)]
    """The namespaces of the tenant by name."""

    network: Network = Field(default_factory=Network)
    """Exceptions to the default deny of NetworkPolicies."""

    leaving: bool = False
    """Whether the tenant will be removed. No queue admits new work of its namespaces; running work continues.

    The first of two commits; the second commit removes the tenant from the spec."""

    accept: Accept = {}
    """Findings that are accepted for the tenant, with the reason."""
