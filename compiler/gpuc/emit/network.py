"""Policies of a tenant namespace: one denies all traffic, the others allow the traffic that workloads need.

Policies are additive. They do not apply to pods on the host network or to EFA traffic. The catalog contains what each
network policy engine matches: an ipBlock of a NetworkPolicy, or only an entity of a CiliumNetworkPolicy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gpuc.diagnostics.finding import Path
from gpuc.emit.sync import protected, wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.model.names import TENANT_KEY, WHY
from gpuc.spec.tenants import Egress, Ingress, Port

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server sets on every Namespace. Users cannot change it."""

NODE_LOCAL_DNS = "169.254.20.10/32"
POD_IDENTITY_AGENT = "169.254.170.23/32"
"""Address of the EKS Pod Identity agent, which provides credentials to pods. No policy allows the instance metadata
service (169.254.169.254), because it provides the credentials of the node."""

CILIUM_POLICY = ("cilium.io", "CiliumNetworkPolicy")
"""API group and kind of the policies with entities."""

_DNS_PORTS = (Port(port=53, protocol="UDP"), Port(port=53, protocol="TCP"))
_HTTPS = (Port(port=443),)

Entry = TypeVar("Entry", Egress, Ingress)


@dataclass(frozen=True)
class _Destination:
    """A service that pods reach at its addresses or, with some engines, only as an entity."""

    name: str
    """The name of the policy that allows the destination."""
    origin: Path
    cidrs: tuple[str, ...]
    ports: tuple[Port, ...]
    entity: str
    """The entity of Cilium that includes the destination; empty if the engine matches the addresses."""


def network_policies(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the policies of a namespace: default-deny first, and the traffic that the spec allows last."""
    network = (*tenant.path, "network")
    specs: list[tuple[str, Path, Body, str]] = [
        ("allow-dns", tenant.path, _dns(cluster), ""),
        ("allow-tenant", tenant.path, _tenant(tenant), ""),
        ("allow-endpoints", ("spec", "cloud", "aws", "endpointCidrs"), _endpoints(cluster), ""),
    ]
    destinations = list(_destinations(cluster, tenant))
    specs += [
        (destination.name, destination.origin, _to_addresses(destination), "")
        for destination in destinations
        if not destination.entity
    ]
    if tenant.spec.network.metrics:  # a rule without ports would allow all ports
        specs.append(("allow-metrics", (*network, "metrics"), _metrics(cluster, tenant), ""))
    specs += _declared(network, tenant, namespace)
    yield _policy(file, "default-deny", tenant.path, {}, namespace, protected(cluster, 1))
    for name, origin, rules, why in specs:
        annotations = wave(1) | ({WHY: why} if why else {})
        yield _policy(file, name, origin, rules, namespace, annotations)
    yield from (_entity_policy(file, destination, namespace) for destination in destinations if destination.entity)


def egress_cidrs(cluster: Cluster, tenant: Tenant) -> list[str]:
    """Returns the CIDRs to which NetworkPolicies of a tenant may allow egress."""
    declared = [egress.cidr for egress in tenant.spec.network.egress]
    addresses = [
        cidr for destination in _destinations(cluster, tenant) if not destination.entity for cidr in destination.cidrs
    ]
    return list(dict.fromkeys([*declared, *_endpoint_cidrs(cluster), *addresses]))


def needs_cilium_policies(cluster: Cluster) -> bool:
    """Returns whether the cluster has an isolated tenant with a policy that names an entity of Cilium."""
    isolated = [tenant for tenant in cluster.tenants if tenant.isolates_network]
    return any(destination.entity for tenant in isolated for destination in _destinations(cluster, tenant))


def _destinations(cluster: Cluster, tenant: Tenant) -> Iterator[_Destination]:
    """Yields the services on the own node that the tenant uses, and the API server if the tenant declares it.

    Source: gpuc/catalog/datapaths.json
    """
    aws: Path = ("spec", "cloud", "aws")
    agent, api_server = (_entity(cluster, subject) for subject in ("node-agent", "api-server"))
    http = (Port(port=80),)
    yield _Destination("allow-pod-identity", tenant.path, (POD_IDENTITY_AGENT,), http, agent)
    if cluster.aws.node_local_dns:
        path = (*aws, "nodeLocalDns")
        yield _Destination("allow-node-local-dns", path, (NODE_LOCAL_DNS,), _DNS_PORTS, agent)
    if tenant.spec.network.api_server:
        path = (*tenant.path, "network", "apiServer")
        service = (f"{cluster.api_server_service}/32",) if cluster.api_server_service else ()
        cidrs = tuple(dict.fromkeys((*cluster.aws.api_server_cidrs, *service)))
        yield _Destination("allow-api-server", path, cidrs, _HTTPS, api_server)


def _entity(cluster: Cluster, subject: str) -> str:
    fact = cluster.datapath.get(subject)
    return fact.entity if fact else ""


def _policy(
    file: str, name: str, origin: Path, rules: Body, namespace: Namespace, annotations: dict[str, str]
) -> Manifest:
    """Returns a NetworkPolicy for all pods of a namespace. The default of policyTypes would always include Ingress."""
    directions = [key.capitalize() for key in ("ingress", "egress") if key in rules or not rules]
    body: Body = {"spec": {"podSelector": {}, "policyTypes": directions, **rules}}
    api = "networking.k8s.io/v1"
    return Manifest(file, origin, api, "NetworkPolicy", name, body, namespace.name, annotations=annotations)


def _entity_policy(file: str, destination: _Destination, namespace: Namespace) -> Manifest:
    """Returns a CiliumNetworkPolicy that allows all pods of a namespace the entity of a destination."""
    ports = [{"port": str(port.port), "protocol": port.protocol} for port in destination.ports]
    rule = {"toEntities": [destination.entity], "toPorts": [{"ports": ports}]}
    body: Body = {"spec": {"endpointSelector": {}, "egress": [rule]}}
    name, kind = destination.name, CILIUM_POLICY[1]
    return Manifest(
        file, destination.origin, f"{CILIUM_POLICY[0]}/v2", kind, name, body, namespace.name, annotations=wave(1)
    )


def _dns(cluster: Cluster) -> Body:
    """Returns rules for DNS: the pods of kube-dns, and the pods of the DNS cache if Cilium redirects DNS to them.

    Both selectors are in one peer, so both must match. Two peers would allow all pods of namespace kube-system.

    Source: cilium/cilium v1.20.2 Documentation/network/kubernetes/local-redirect-policy.rst, Node-local DNS cache
    """
    has_cache_pods = cluster.aws.node_local_dns and _entity(cluster, "node-agent")
    peers = [
        {
            "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": name}},
        }
        for name in (("kube-dns", "node-local-dns") if has_cache_pods else ("kube-dns",))
    ]
    return {"egress": [{"to": peers, "ports": _ports(_DNS_PORTS)}]}


def _tenant(tenant: Tenant) -> Body:
    """Returns rules for traffic within a tenant. All ports are allowed: rendezvous and NCCL use ephemeral ports."""
    peer = {"namespaceSelector": {"matchLabels": {TENANT_KEY: tenant.name}}}
    return {"ingress": [{"from": [peer]}], "egress": [{"to": [peer]}]}


def _endpoint_cidrs(cluster: Cluster) -> list[str]:
    """Returns the addresses of AWS services: interface endpoints, and S3 behind a gateway endpoint."""
    return list(dict.fromkeys([*cluster.aws.endpoint_cidrs, *cluster.aws.s3_gateway_cidrs]))


def _endpoints(cluster: Cluster) -> Body:
    return {"egress": [{"to": [_ip_block(cidr) for cidr in _endpoint_cidrs(cluster)], "ports": _ports(_HTTPS)}]}


def _to_addresses(destination: _Destination) -> Body:
    blocks = [_ip_block(cidr) for cidr in destination.cidrs]
    return {"egress": [{"to": blocks, "ports": _ports(destination.ports)}]}


def _metrics(cluster: Cluster, tenant: Tenant) -> Body:
    prometheus = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: cluster.spec.observability.namespace}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
    }
    return {"ingress": [{"from": [prometheus], "ports": _ports(tenant.spec.network.metrics)}]}


def _declared(network: Path, tenant: Tenant, namespace: Namespace) -> Iterator[tuple[str, Path, Body, str]]:
    """Yields name, origin, rules and reason of one NetworkPolicy per egress CIDR and ingress namespace of the spec."""
    egress_by_cidr: dict[str, list[tuple[int, Egress]]] = {}
    ingress_by_namespace: dict[str, list[tuple[int, Ingress]]] = {}
    for index, egress in _entries(tenant.spec.network.egress, namespace):
        egress_by_cidr.setdefault(egress.cidr, []).append((index, egress))
    for index, ingress in _entries(tenant.spec.network.ingress, namespace):
        ingress_by_namespace.setdefault(ingress.namespace, []).append((index, ingress))
    for cidr, egresses in egress_by_cidr.items():
        rules = [{"to": [_ip_block(cidr)], "ports": _ports(egress.ports)} for _, egress in egresses]
        name = "allow-egress-" + cidr.replace(".", "-").replace("/", "-")
        origin = (*network, "egress", egresses[0][0])
        yield name, origin, {"egress": rules}, _reasons(egress.why for _, egress in egresses)
    for caller, ingresses in ingress_by_namespace.items():
        peer = {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: caller}}}
        rules = [{"from": [peer], "ports": _ports(ingress.ports)} for _, ingress in ingresses]
        origin = (*network, "ingress", ingresses[0][0])
        yield f"allow-ingress-{caller}", origin, {"ingress": rules}, _reasons(ingress.why for _, ingress in ingresses)


def _entries(entries: Sequence[Entry], namespace: Namespace) -> list[tuple[int, Entry]]:
    """Returns the exceptions that apply to a namespace, with their indexes in the spec."""
    return [(index, entry) for index, entry in enumerate(entries) if entry.only is None or namespace.name in entry.only]


def _reasons(whys: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(whys))


def _ip_block(cidr: str) -> Body:
    return {"ipBlock": {"cidr": cidr}}


def _ports(ports: Sequence[Port]) -> list[Body]:
    return [{"port": port.port, "protocol": port.protocol} for port in ports]
