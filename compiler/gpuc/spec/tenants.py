"""Tenants: who works here, in which namespaces, and what may reach them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import Accept, LabelValue, Name, SpecModel, Words
from gpuc.spec.cloud import Cidr


class Port(SpecModel):
    """One port of one protocol."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """Port number."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    """Transport protocol."""


Ports = Annotated[list[Port], Field(min_length=1)]


class Egress(SpecModel):
    """A network outside the cluster that a tenant's pods may call."""

    cidr: Cidr
    """Its addresses; never those of pods."""

    ports: Ports
    """The ports that may be called."""

    why: Words
    """What it is for."""


class Ingress(SpecModel):
    """A namespace of the platform that may call a tenant's pods."""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]
    """The calling namespace."""

    ports: Ports
    """The ports that may be called."""

    why: Words
    """What it is for."""


class Network(SpecModel):
    """Exceptions from the default deny."""

    egress: list[Egress] = []
    """Networks that may be called."""

    ingress: list[Ingress] = []
    """Platform namespaces that may call."""

    metrics: list[Port] = Field(default_factory=lambda: [Port(port=8080)])
    """Ports that Prometheus may scrape."""


class Members(SpecModel):
    """Who works for the tenant."""

    groups: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s]+$")]], Field(min_length=1)
    ]
    """Groups of the identity provider."""

    role: Literal["view", "edit", "admin"]
    """view reads, edit runs work, admin also manages service accounts.

    None may raise its own quota or open its network."""


class Namespace(SpecModel):
    """One namespace of a tenant."""

    pod_security: Literal["privileged", "baseline", "restricted"]
    """The Pod Security level that is enforced; EFA needs privileged because of IPC_LOCK."""

    nccl: Name | None = None
    """The NCCL profile whose ConfigMap stands in the namespace."""

    leaving: bool = False
    """Whether the namespace is on its way out: its queues admit no new work, and running work goes on.

    The first of two commits; the second takes the namespace out of the spec."""


class Tenant(SpecModel):
    """A team with its own namespaces, quota and bill."""

    members: Members
    """Who works for it."""

    cost_centre: LabelValue
    """Who pays; a label on namespaces."""

    isolation: Literal["namespace", "network", "dedicated"]
    """namespace: roles, quotas and Pod Security; network: also NetworkPolicies; dedicated: also pools of its own."""

    namespaces: Annotated[dict[Name, Namespace], Field(min_length=1)]
    """Its namespaces by name."""

    network: Network = Field(default_factory=Network)
    """Exceptions from the default deny."""

    leaving: bool = False
    """Whether the tenant is on its way out: no queue admits new work of its namespaces, and running work goes on.

    The first of two commits; the second takes the tenant out of the spec."""

    accept: Accept = {}
    """Findings that are accepted here, with the reason."""
