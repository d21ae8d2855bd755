"""Policies for the connections that a tenant declares in `network.egress`, `network.internet` and `network.ingress`.

gpuc combines entries with the same peers into one policy. The name of the policy depends only on its peers and pods. So
the order of the entries has no effect, and a new entry with other peers changes no existing policy. The name does not
depend on the ranges of health checks, so that a change of these ranges does not replace the policy.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.emit.network_objects import PolicyPart, ip_block, namespace_peer, with_ports
from gpuc.kubernetes.addresses import ANY_IPV4
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.spec.network import Allowed, Egress, Ingress

_DIGEST_LENGTH = 8


class _Exception(Struct, frozen=True):
    """An entry of the spec, and what its rule allows."""

    name: str
    """The name of the policy."""
    path: Path
    entry: Allowed
    direction: str
    """egress or ingress."""
    rule: Body
    """The rule without its ports."""
    is_cilium: bool = False


def exception_policies(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> Iterator[PolicyPart]:
    """Yields the policies for the declared connections that apply to a namespace."""
    groups: dict[str, list[_Exception]] = {}
    for exception in _exceptions(cluster, tenant):
        if applies(exception.entry, namespace):
            groups.setdefault(exception.name, []).append(exception)
    for name, group in groups.items():
        first = group[0]
        rules = [
            with_ports(exception.rule, exception.entry.ports, is_cilium=exception.is_cilium) for exception in group
        ]
        yield PolicyPart(
            name,
            first.path,
            {first.direction: rules},
            "; ".join(dict.fromkeys(exception.entry.why for exception in group)),
            first.entry.only_pods or {},
            first.is_cilium,
        )


def applies(entry: Allowed, namespace: Namespace) -> bool:
    """Returns whether a declared connection applies to a namespace of its tenant."""
    return entry.only is None or namespace.name in entry.only


def internet_block(cluster: Cluster) -> Body:
    """Returns the ipBlock of the internet: all addresses without special addresses and the addresses of the cluster."""
    return {"cidr": ANY_IPV4, "except": [str(network) for network in cluster.outside_internet]}


def ingress_blocks(cluster: Cluster, tenant: Tenant) -> list[Body]:
    """Returns the ipBlocks from which NetworkPolicies of a tenant may allow ingress, each with its field `except`."""
    entries = tenant.spec.network.ingress
    cidrs = dict.fromkeys(cidr for entry in entries for cidr in entry.cidrs or entry.health_checks or ())
    blocks: list[Body] = [{"cidr": cidr, "except": []} for cidr in cidrs]
    return [*blocks, internet_block(cluster)] if any(entry.internet for entry in entries) else blocks


def needs_cilium(tenant: Tenant) -> bool:
    """Returns whether a tenant declares a connection that only a CiliumNetworkPolicy can allow."""
    network = tenant.spec.network
    return any(entry.names for entry in network.egress) or any(entry.gateway for entry in network.ingress)


def _exceptions(cluster: Cluster, tenant: Tenant) -> Iterator[_Exception]:
    network, path = tenant.spec.network, (*tenant.path, "network")
    for index, egress in enumerate(network.egress):
        yield _egress((*path, "egress", index), egress)
    if network.internet is not None:
        rule = {"to": [{"ipBlock": internet_block(cluster)}]}
        name = _name("allow-internet", network.internet)
        yield _Exception(name, (*path, "internet"), network.internet, "egress", rule)
    for index, ingress in enumerate(network.ingress):
        yield _ingress(cluster, (*path, "ingress", index), ingress)


def _egress(path: Path, entry: Egress) -> _Exception:
    if entry.names is not None:
        name = _name(f"allow-egress-names-{_digest(sorted(entry.names))}", entry)
        return _Exception(name, path, entry, "egress", {"toFQDNs": [_fqdn(host) for host in entry.names]}, True)
    name = _name(f"allow-egress-{_ranges_name(entry.ranges)}", entry)
    return _Exception(name, path, entry, "egress", {"to": [ip_block(cidr) for cidr in entry.ranges]})


def _ingress(cluster: Cluster, path: Path, entry: Ingress) -> _Exception:
    if entry.gateway:
        name = _name("allow-from-gateway", entry)
        return _Exception(name, path, entry, "ingress", {"fromEntities": ["ingress"]}, True)
    if entry.internet:
        checks = [ip_block(cidr) for cidr in entry.health_checks or ()]
        name, peers = "allow-from-internet", [{"ipBlock": internet_block(cluster)}, *checks]
    elif entry.cidrs is not None:
        name, peers = f"allow-from-{_ranges_name(entry.cidrs)}", [ip_block(cidr) for cidr in entry.cidrs]
    else:
        labels = f"-{_digest(_pairs(entry.pods))}" if entry.pods else ""
        name, peers = f"allow-ingress-{entry.namespace}{labels}", [namespace_peer(str(entry.namespace), entry.pods)]
    return _Exception(_name(name, entry), path, entry, "ingress", {"from": peers})


def _name(name: str, entry: Allowed) -> str:
    """Returns the name of a policy; a policy for some of the pods has a digest of their labels."""
    return f"{name}-pods-{_digest(_pairs(entry.only_pods))}" if entry.only_pods else name


def _ranges_name(cidrs: list[str]) -> str:
    """Returns the part of a policy's name for its ranges: 10-20-0-0-16 for one range, a digest for several."""
    if len(set(cidrs)) == 1:
        return cidrs[0].replace(".", "-").replace("/", "-")
    return f"ranges-{_digest(sorted(cidrs))}"


def _pairs(labels: dict[str, str]) -> list[str]:
    return sorted(f"{key}={value}" for key, value in labels.items())


def _digest(texts: Iterable[str]) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()[:_DIGEST_LENGTH]


def _fqdn(host: str) -> Body:
    """Returns the selector of a host name. `**.` matches names on all levels below a domain, `*.` only on one level.

    In the spec, a wildcard includes all levels, as in `exposed.hosts`.

    Source: cilium/cilium v1.20.2 Documentation/security/policy/layer3.rst, DNS based
    """
    return {"matchPattern": f"*{host}"} if host.startswith("*.") else {"matchName": host}
