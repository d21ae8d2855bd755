"""What the proof relies on in the datapath of the network policy engine: facts, ClusterIPs, and forged endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gpuc.catalog.rows import read
from gpuc.isolation.access.builtin import Grant
from gpuc.isolation.access.subjects import Access
from gpuc.isolation.assumptions import Assumption, about_permissions
from gpuc.isolation.proof import Reachability
from gpuc.kubernetes.addresses import Ranges, block, read_ranges
from gpuc.kubernetes.invalid import Invalid
from gpuc.objects.object_set import ObjectSet

if TYPE_CHECKING:
    from gpuc.catalog.operations import DatapathFact
    from gpuc.model import Cluster

Datapath = Mapping[str, "DatapathFact"]
"""The facts about an engine, by subject."""
_ENDPOINTS = {("", "endpoints"), ("discovery.k8s.io", "endpointslices")}
_WRITE = frozenset(("*", "create", "patch", "update"))


class Network(NamedTuple):
    """What the spec of a cluster declares about its network, for the proof."""

    engine: str = ""
    """The network policy engine; empty without a spec."""
    pods: Ranges | None = None
    """The address ranges of pods; None if the ranges are unknown."""
    services: Ranges = ()
    """The ClusterIPs that egress rules with an ipBlock open."""


def network(cluster: Cluster | None) -> Network:
    """Returns what the spec of a cluster declares; None for manifest files."""
    if cluster is None:
        return Network()
    aws = cluster.aws
    try:
        pods = read_ranges(aws.pod_cidrs) or None
    except Invalid:
        pods = None
    services = opened_services(cluster.datapath, aws.service_cidr, cluster.api_server_service)
    return Network(aws.network_policy_engine, pods, services)


def unisolated_tenants(cluster: Cluster | None) -> frozenset[str]:
    """Returns the tenants that the spec of a cluster does not isolate."""
    return frozenset(tenant.name for tenant in (cluster.tenants if cluster else ()) if not tenant.isolates_network)


def opened_services(datapath: Datapath, service_cidr: str | None, api_server: str | None) -> Ranges:
    """Returns the ClusterIPs that an egress rule with an ipBlock opens, with pods of any tenant behind them.

    The ranges are empty if the engine replaces the address of a Service before it judges a packet, and if the spec
    declares no range. The address of Service kubernetes is excluded, because only the API server is behind it.
    """
    if service_cidr is None or not _judges_services(datapath):
        return ()
    try:
        return block(service_cidr, [f"{api_server}/32"] if api_server else [])
    except Invalid:
        return ()


def datapath_assumptions(objects: ObjectSet, reachability: Reachability, datapath: Datapath) -> Iterator[Assumption]:
    """Yields an assumption about the endpoints of Services, if the engine judges packets with the address of a Service.

    A tenant that can write endpoints puts any address behind a Service of its own, which its egress rules include.
    """
    if not _judges_services(datapath):
        return
    access = Access(objects, reachability.tenancy)
    writers = {
        f"{bound_role.subject} through {bound_role.binding}"
        for bound_role in access.bound_roles
        for rule in access.rules(bound_role)
        if _writes_endpoints(rule.grant)
    }
    claim, checked = "no tenant can write Endpoints or EndpointSlices", "no role of a tenant has such a permission"
    yield about_permissions(claim, access, writers, checked)


def statements(datapath: Datapath) -> list[tuple[str, str]]:
    """Returns the facts about an engine as sentences, each with its sources."""
    texts = read("datapaths")["sources"]
    return [(fact.statement, "; ".join(texts[key] for key in fact.source)) for fact in datapath.values()]


def _judges_services(datapath: Datapath) -> bool:
    """Returns whether the engine judges packets before the address of a Service is replaced."""
    return "service" in datapath and "ip-block" in datapath["service"].matched_by


def _writes_endpoints(grant: Grant) -> bool:
    return bool(grant.verbs & _WRITE) and any(
        {group, "*"} & set(grant.groups) and {resource, "*"} & set(grant.resources) for group, resource in _ENDPOINTS
    )
