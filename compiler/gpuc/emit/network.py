"""NetworkPolicies of a tenant namespace: one denies all traffic, the others allow the traffic that workloads need.

NetworkPolicies are additive. They do not apply to pods on the host network or to EFA traffic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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


def network_policies(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the NetworkPolicies of a namespace: default-deny first, and the traffic that the spec allows last."""
    network = (*tenant.path, "network")
    specs: list[tuple[str, Path, Body, str]] = [
        ("allow-dns", tenant.path, _dns(), ""),
        ("allow-tenant", tenant.path, _tenant(tenant), ""),
        ("allow-endpoints", ("spec", "cloud", "aws", "endpointCidrs"), _endpoints(cluster), ""),
    ]
    if tenant.spec.network.metrics:  # a rule without ports would allow all ports
        specs.append(("allow-metrics", (*network, "metrics"), _metrics(cluster, tenant), ""))
    specs += _declared(network, tenant)
    yield _policy(file, "default-deny", tenant.path, {}, namespace, protected(cluster, 1))
    for name, origin, rules, why in specs:
        annotations = wave(1) | ({WHY: why} if why else {})
        yield _policy(file, name, origin, rules, namespace, annotations)


def _policy(
    file: str, name: str, origin: Path, rules: Body, namespace: Namespace, annotations: dict[str, str]
) -> Manifest:
    """Returns a NetworkPolicy for all pods of a namespace. The default of policyTypes would always include Ingress."""
    directions = [key.capitalize() for key in ("ingress", "egress") if key in rules or not rules]
    body: Body = {"spec": {"podSelector": {}, "policyTypes": directions, **rules}}
    api = "networking.k8s.io/v1"
    return Manifest(file, origin, api, "NetworkPolicy", name, body, namespace.name, annotations=annotations)


def _dns() -> Body:
    """Returns rules for DNS: the pods of kube-dns, and the DNS cache on the node.

    Both selectors are in one peer, so both must match. Two peers would allow all pods of namespace kube-system.
    """
    resolver = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    ports = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    return {"egress": [{"to": [resolver, _ip_block(NODE_LOCAL_DNS)], "ports": ports}]}


def _tenant(tenant: Tenant) -> Body:
    """Returns rules for traffic within a tenant. All ports are allowed: rendezvous and NCCL use ephemeral ports."""
    peer = {"namespaceSelector": {"matchLabels": {TENANT_KEY: tenant.name}}}
    return {"ingress": [{"from": [peer]}], "egress": [{"to": [peer]}]}


def _endpoints(cluster: Cluster) -> Body:
    cidrs = dict.fromkeys([*cluster.aws.endpoint_cidrs, *cluster.aws.api_server_cidrs])
    return {
        "egress": [
            {"to": [_ip_block(cidr) for cidr in cidrs], "ports": [{"port": 443, "protocol": "TCP"}]},
            {"to": [_ip_block(POD_IDENTITY_AGENT)], "ports": [{"port": 80, "protocol": "TCP"}]},
        ]
    }


def _metrics(cluster: Cluster, tenant: Tenant) -> Body:
    prometheus = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: cluster.spec.observability.namespace}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
    }
    return {"ingress": [{"from": [prometheus], "ports": _ports(tenant.spec.network.metrics)}]}


def _declared(network: Path, tenant: Tenant) -> Iterator[tuple[str, Path, Body, str]]:
    """Yields name, origin, rules and reason of one NetworkPolicy per egress CIDR and ingress namespace of the spec."""
    egress_by_cidr: dict[str, list[tuple[int, Egress]]] = {}
    ingress_by_namespace: dict[str, list[tuple[int, Ingress]]] = {}
    for index, egress in enumerate(tenant.spec.network.egress):
        egress_by_cidr.setdefault(egress.cidr, []).append((index, egress))
    for index, ingress in enumerate(tenant.spec.network.ingress):
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


def _reasons(whys: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(whys))


def _ip_block(cidr: str) -> Body:
    return {"ipBlock": {"cidr": cidr}}


def _ports(ports: Sequence[Port]) -> list[Body]:
    return [{"port": port.port, "protocol": port.protocol} for port in ports]
