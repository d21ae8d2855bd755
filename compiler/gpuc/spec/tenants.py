"""Tenants: members, namespaces and network access."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import Accept, LabelValue, Name, SpecModel, TextLine
from gpuc.spec.cloud import Cidr
from gpuc.spec.queues import PoolAmount


class Port(SpecModel):
    """A port with its protocol."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """Port number."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    """Transport protocol."""


Ports = Annotated[list[Port], Field(min_length=1)]


class Egress(SpecModel):
    """A network outside of the cluster to which pods of the tenant may connect."""

    cidr: Cidr
    """The address range. It must not contain addresses of pods."""

    ports: Ports
    """The ports to which pods may connect."""

    why: TextLine
    """The reason for the exception."""

    only: Annotated[list[Name], Field(min_length=1)] | None = None
    """The namespaces of the tenant that have the exception. Default: all namespaces of the tenant."""


class Ingress(SpecModel):
    """A namespace of the platform whose pods may connect to pods of the tenant."""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]
    """The namespace of the platform."""

    ports: Ports
    """The ports of the tenant's pods to which pods of the namespace may connect."""

    why: TextLine
    """The reason for the exception."""

    only: Annotated[list[Name], Field(min_length=1)] | None = None
    """The namespaces of the tenant that have the exception. Default: all namespaces of the tenant."""


class Network(SpecModel):
    """Exceptions to the NetworkPolicies that deny all other traffic of the tenant."""

    egress: list[Egress] = []
    """Networks outside of the cluster to which pods of the tenant may connect."""

    ingress: list[Ingress] = []
    """Namespaces of the platform whose pods may connect to pods of the tenant."""

    api_server: bool = False
    """Whether pods of the tenant may connect to the API server, for example to start pods with Ray or Spark."""

    metrics: list[Port] = Field(default_factory=lambda: [Port(port=8080)])
    """Ports of the tenant's pods that Prometheus may scrape."""


class Members(SpecModel):
    """The members of a tenant."""

    groups: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s]+$")]], Field(min_length=1)
    ]
    """Groups of the identity provider."""

    role: Literal["view", "edit", "admin"]
    """view reads objects, edit runs workloads, admin also manages service accounts.

    With none of the roles can members raise the quota of the tenant or change its NetworkPolicies."""


Host = Annotated[
    str, Field(pattern=r"^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=253)
]
"""A host name such as search.example.com, or *.example.com for all host names that end with .example.com."""


class Exposed(SpecModel):
    """The ways in which Services of a namespace are reachable from outside of the cluster. Default: none."""

    load_balancers: Annotated[int, Field(ge=0, le=1000)] = 0
    """The maximum number of Services of type LoadBalancer."""

    node_ports: Annotated[int, Field(ge=0, le=1000)] = 0
    """The maximum number of node ports. A port of a load balancer needs one, unless its Service has
    `allocateLoadBalancerNodePorts: false`."""

    hosts: list[Host] = []
    """The host names of Ingresses. The policy `exposure` denies all other Ingresses."""


class Namespace(SpecModel):
    """A namespace of a tenant."""

    pod_security: Literal["privileged", "baseline", "restricted"]
    """The enforced Pod Security level. EFA pods need privileged on AMIs other than AL2023 (capability IPC_LOCK)."""

    nccl: Name | None = None
    """The NCCL profile of the namespace. gpuc writes the ConfigMap of the profile into the namespace."""

    quota: dict[Name, PoolAmount] = {}
    """The ResourceQuota of the namespace by pool, for pools with `counted: quota`."""

    queues: list[Name] | None = None
    """The queues in which the namespace may submit workloads. Default: all queues of the tenant."""

    exposed: Exposed = Field(default_factory=Exposed)
    """The ways in which Services of the namespace are reachable from outside of the cluster. Default: none."""

    leaving: bool = False
    """Whether the namespace will be removed. It gets no new workloads; running workloads continue.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the namespace from the
    spec.
    """


class Tenant(SpecModel):
    """A team with separate namespaces, quota and costs."""

    members: Members
    """The members of the tenant."""

    cost_centre: LabelValue
    """The cost centre of the tenant. All namespaces of the tenant have the cost centre as a label."""

    isolation: Literal["namespace", "network", "dedicated"]
    """namespace: RBAC, quotas and Pod Security. network: also NetworkPolicies. dedicated: also dedicated node pools."""

    namespaces: Annotated[dict[Name, Namespace], Field(min_length=1)]
    """The namespaces of the tenant by name."""

    network: Network = Field(default_factory=Network)
    """Exceptions to the NetworkPolicies that deny all other traffic of the tenant."""

    leaving: bool = False
    """Whether the tenant will be removed. The tenant gets no new workloads; running workloads continue.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the tenant from the
    spec.
    """

    accept: Accept = {}
    """Reasons by rule id for findings that are accepted for the tenant."""
