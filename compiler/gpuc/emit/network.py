"""NetworkPolicies of a tenant namespace: one policy denies all traffic, the others allow what workloads need.

Policies are additive. They do not apply to pods on the host network or to EFA traffic. For each network policy engine,
the catalog contains what the engine matches: an ipBlock of a NetworkPolicy, or only an entity of a CiliumNetworkPolicy.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.emit.component import needed_components
from gpuc.emit.network_exceptions import applies, exception_policies, internet_block, needs_cilium
from gpuc.emit.network_objects import PolicyPart, ip_block, namespace_peer, with_ports
from gpuc.emit.sync import protected
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.model.names import TENANT_KEY
from gpuc.spec.network import Port
from gpuc.spec.platform import Observability

NODE_LOCAL_DNS = "169.254.20.10/32"

_DNS_PORTS = (Port(port=53, protocol="UDP"), Port(port=53, protocol="TCP"))
_HTTPS = (Port(port=443),)


class _Destination(Struct, frozen=True):
    """A service that pods connect to. A policy names its addresses or, with some engines, an entity of Cilium."""

    name: str
    """The name of the policy that allows the destination."""
    origin: Path
    cidrs: tuple[str, ...]
    ports: tuple[Port, ...]
    entity: str
    """The entity of Cilium that includes the destination; empty if the engine matches the addresses."""

    @property
    def part(self) -> PolicyPart:
        """The network policy with which pods of a tenant may connect to the destination."""
        peers = {"toEntities": [self.entity]} if self.entity else {"to": [ip_block(cidr) for cidr in self.cidrs]}
        is_cilium = bool(self.entity)
        rule = with_ports(peers, self.ports, is_cilium=is_cilium)
        return PolicyPart(self.name, self.origin, {"egress": [rule]}, is_cilium=is_cilium)


def network_policies(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields the policies of a namespace: default-deny first, CiliumNetworkPolicies for destinations last."""
    deny = PolicyPart("default-deny", tenant.path, {}).manifest(file, namespace)
    yield replace(deny, annotations=protected(cluster, 1))
    destinations = list(_destinations(cluster, tenant))
    parts = [_dns(cluster, tenant, namespace), _tenant(tenant)]
    parts += [destination.part for destination in destinations if not destination.entity]
    if tenant.spec.network.metrics and cluster.spec.observability:  # a rule without ports would allow all ports
        parts.append(_metrics(cluster.spec.observability, tenant))
    parts += _controllers(cluster)
    parts += exception_policies(cluster, tenant, namespace)
    parts += [destination.part for destination in destinations if destination.entity]
    yield from (part.manifest(file, namespace) for part in parts)


def egress_cidrs(cluster: Cluster, tenant: Tenant) -> list[str]:
    """Returns the address ranges to which NetworkPolicies in the namespaces of a tenant may allow egress."""
    declared = [cidr for egress in tenant.spec.network.egress for cidr in egress.ranges]
    addresses = [
        cidr for destination in _destinations(cluster, tenant) if not destination.entity for cidr in destination.cidrs
    ]
    return list(dict.fromkeys([*declared, *addresses]))


def egress_blocks(cluster: Cluster, tenant: Tenant) -> list[Body]:
    """Returns the ipBlocks to which NetworkPolicies of a tenant may allow egress, each with its field `except`.

    The policy network-policy-fence also compares the field `except`: without it, 0.0.0.0/0 would include pods of other
    tenants.
    """
    blocks: list[Body] = [{"cidr": cidr, "except": []} for cidr in egress_cidrs(cluster, tenant)]
    return [*blocks, internet_block(cluster)] if tenant.spec.network.internet else blocks


def needs_cilium_policies(cluster: Cluster) -> bool:
    """Returns whether gpuc emits a CiliumNetworkPolicy for a tenant of the cluster."""
    return any(
        needs_cilium(tenant) or any(destination.entity for destination in _destinations(cluster, tenant))
        for tenant in cluster.tenants
        if tenant.isolates_network
    )


def _destinations(cluster: Cluster, tenant: Tenant) -> Iterator[_Destination]:
    """Yields the endpoints, the services on the own node, and the API server if the tenant declares it.

    A rule without addresses would allow all addresses.

    Source: gpuc/catalog/datapaths.json
    """
    network: Path = ("spec", "network")
    agent, api_server = (_entity(cluster, subject) for subject in ("node-agent", "api-server"))
    http = (Port(port=80),)
    if endpoints := cluster.endpoint_cidrs:
        yield _Destination("allow-endpoints", (*network, "endpointCidrs"), endpoints, _HTTPS, "")
    for name, address in cluster.substrate.node_services.items():
        yield _Destination(name, tenant.path, (address,), http, agent)
    if cluster.network.node_local_dns:
        path = (*network, "nodeLocalDns")
        yield _Destination("allow-node-local-dns", path, (NODE_LOCAL_DNS,), _DNS_PORTS, agent)
    if tenant.spec.network.api_server:
        path = (*tenant.path, "network", "apiServer")
        service = (f"{cluster.api_server_service}/32",) if cluster.api_server_service else ()
        cidrs = tuple(dict.fromkeys((*cluster.network.api_server_cidrs, *service)))
        if cidrs or api_server:
            yield _Destination("allow-api-server", path, cidrs, _HTTPS, api_server)


def _entity(cluster: Cluster, subject: str) -> str:
    fact = cluster.datapath.get(subject)
    return fact.entity if fact else ""


def _dns(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> PolicyPart:
    """Returns the policy for DNS: the pods of kube-dns, and the pods of the DNS cache if Cilium redirects DNS to them.

    Where pods may connect to host names, Cilium's DNS proxy reads the answers, from which Cilium learns the addresses.
    There is then no NetworkPolicy for DNS: a rule without layer 7 would make the layer 7 rule for the same ports
    ineffective.

    Source: cilium/cilium v1.20.2 Documentation/network/kubernetes/local-redirect-policy.rst, Node-local DNS cache;
    Documentation/security/policy/layer7.rst, DNS Policy and IP Discovery
    """
    has_cache_pods = cluster.network.node_local_dns and _entity(cluster, "node-agent")
    apps = ("kube-dns", "node-local-dns") if has_cache_pods else ("kube-dns",)
    if any(egress.names and applies(egress, namespace) for egress in tenant.spec.network.egress):
        labels = [{"k8s:io.kubernetes.pod.namespace": "kube-system", "k8s:k8s-app": app} for app in apps]
        rule = with_ports({"toEndpoints": [{"matchLabels": label} for label in labels]}, _DNS_PORTS, is_cilium=True)
        rule["toPorts"][0]["rules"] = {"dns": [{"matchPattern": "*"}]}
        return PolicyPart("allow-dns", tenant.path, {"egress": [rule]}, is_cilium=True)
    peers = [namespace_peer("kube-system", {"k8s-app": app}) for app in apps]
    return PolicyPart("allow-dns", tenant.path, {"egress": [with_ports({"to": peers}, _DNS_PORTS)]})


def _tenant(tenant: Tenant) -> PolicyPart:
    """Returns the policy for traffic within a tenant, on all ports: rendezvous and NCCL use ephemeral ports."""
    peer = {"namespaceSelector": {"matchLabels": {TENANT_KEY: tenant.name}}}
    return PolicyPart("allow-tenant", tenant.path, {"ingress": [{"from": [peer]}], "egress": [{"to": [peer]}]})


def _controllers(cluster: Cluster) -> Iterator[PolicyPart]:
    """Yields the policy for each component whose programs connect to pods of tenants."""
    for component in needed_components(cluster):
        if calls := component.calls:
            peer = namespace_peer(component.release(cluster).namespace, calls.callers)
            rule = with_ports({"from": [peer]}, [Port(port=port) for port in calls.ports])
            yield PolicyPart(f"allow-{component.name}", component.section, {"ingress": [rule]})


def _metrics(observability: Observability, tenant: Tenant) -> PolicyPart:
    peer = namespace_peer(observability.namespace, observability.prometheus.pods)
    rule = with_ports({"from": [peer]}, tenant.spec.network.metrics)
    return PolicyPart("allow-metrics", (*tenant.path, "network", "metrics"), {"ingress": [rule]})
