"""NetworkPolicies of a tenant's namespace: everything is denied, then what work needs is allowed.

Policies only ever allow more, so each stands for itself. They see neither pods on the host's network nor EFA traffic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpuc.diagnostics.finding import Path
from gpuc.emit.sync import kept, wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.model.names import TENANT_KEY, WHY
from gpuc.spec.tenants import Egress, Ingress, Port

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server gives every Namespace: nobody can set it to something else."""

NODE_LOCAL_DNS = "169.254.20.10/32"
POD_IDENTITY_AGENT = "169.254.170.23/32"
"""Where EKS Pod Identity hands out credentials. The instance metadata, 169.254.169.254, are never opened: they hold the
node's own."""


def network_policies(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """The policies of one namespace: the denial first, exceptions of the spec last."""
    network = (*tenant.path, "network")
    specs: list[tuple[str, Path, Body, str]] = [
        ("allow-dns", tenant.path, _dns(), ""),
        ("allow-tenant", tenant.path, _tenant(tenant), ""),
        ("allow-endpoints", ("spec", "cloud", "aws", "endpointCidrs"), _endpoints(cluster), ""),
    ]
    if tenant.spec.network.metrics:  # a rule without ports would open all of them
        specs.append(("allow-metrics", (*network, "metrics"), _metrics(cluster, tenant), ""))
    specs += _declared(network, tenant)
    yield _policy(file, "default-deny", tenant.path, {}, namespace, kept(cluster, 1))
    for name, origin, rules, why in specs:
        notes = wave(1) | ({WHY: why} if why else {})
        yield _policy(file, name, origin, rules, namespace, notes)


def _policy(file: str, name: str, origin: Path, rules: Body, namespace: Namespace, notes: dict[str, str]) -> Manifest:
    """Of all pods of the namespace; directions are named, because the API's default adds Ingress to every policy."""
    directions = [key.capitalize() for key in ("ingress", "egress") if key in rules or not rules]
    body: Body = {"spec": {"podSelector": {}, "policyTypes": directions, **rules}}
    api = "networking.k8s.io/v1"
    return Manifest(file, origin, api, "NetworkPolicy", name, body, namespace.name, annotations=notes)


def _dns() -> Body:
    """The resolver's pods, as one peer: as two it would be all of kube-system; and the cache on the node."""
    resolver = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    ports = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    return {"egress": [{"to": [resolver, _block(NODE_LOCAL_DNS)], "ports": ports}]}


def _tenant(tenant: Tenant) -> Body:
    """All namespaces of the tenant, on all ports: rendezvous and NCCL listen on ephemeral ones."""
    peer = {"namespaceSelector": {"matchLabels": {TENANT_KEY: tenant.name}}}
    return {"ingress": [{"from": [peer]}], "egress": [{"to": [peer]}]}


def _endpoints(cluster: Cluster) -> Body:
    cidrs = dict.fromkeys([*cluster.aws.endpoint_cidrs, *cluster.aws.api_server_cidrs])
    return {
        "egress": [
            {"to": [_block(cidr) for cidr in cidrs], "ports": [{"port": 443, "protocol": "TCP"}]},
            {"to": [_block(POD_IDENTITY_AGENT)], "ports": [{"port": 80, "protocol": "TCP"}]},
        ]
    }


def _metrics(cluster: Cluster, tenant: Tenant) -> Body:
    prometheus = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: cluster.spec.observability.namespace}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
    }
    return {"ingress": [{"from": [prometheus], "ports": _ports(tenant.spec.network.metrics)}]}


def _declared(network: Path, tenant: Tenant) -> Iterator[tuple[str, Path, Body, str]]:
    """One policy per range that may be called, and per namespace that may call, with the reasons of the spec."""
    outward: dict[str, list[tuple[int, Egress]]] = {}
    inward: dict[str, list[tuple[int, Ingress]]] = {}
    for index, egress in enumerate(tenant.spec.network.egress):
        outward.setdefault(egress.cidr, []).append((index, egress))
    for index, ingress in enumerate(tenant.spec.network.ingress):
        inward.setdefault(ingress.namespace, []).append((index, ingress))
    for cidr, group in outward.items():
        rules = [{"to": [_block(cidr)], "ports": _ports(one.ports)} for _, one in group]
        name = "allow-egress-" + cidr.replace(".", "-").replace("/", "-")
        yield name, (*network, "egress", group[0][0]), {"egress": rules}, _reasons(one.why for _, one in group)
    for caller, callers in inward.items():
        peer = {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: caller}}}
        rules = [{"from": [peer], "ports": _ports(one.ports)} for _, one in callers]
        origin = (*network, "ingress", callers[0][0])
        yield f"allow-ingress-{caller}", origin, {"ingress": rules}, _reasons(one.why for _, one in callers)


def _reasons(whys: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(whys))


def _block(cidr: str) -> Body:
    return {"ipBlock": {"cidr": cidr}}


def _ports(ports: Sequence[Port]) -> list[Body]:
    return [{"port": port.port, "protocol": port.protocol} for port in ports]
