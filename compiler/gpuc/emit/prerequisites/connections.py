"""The prerequisites of NetworkPolicies, for every network policy engine."""

from collections.abc import Iterator
from itertools import chain

from gpuc.diagnostics.finding import Path
from gpuc.emit.network import needs_cilium_policies
from gpuc.emit.policy_facts import controllers
from gpuc.emit.prerequisites.record import Row
from gpuc.model import Cluster
from gpuc.objects.object_set import home_namespace
from gpuc.objects.pods import pods_of
from gpuc.spec.network import Network

_WITHOUT_PODS = ("default", "kube-node-lease", "kube-public")
"""Namespaces of Kubernetes in which the platform runs no pods."""
ENGINE: Path = ("spec", "network", "policyEngine")


def networks_of(cluster: Cluster) -> dict[str, Network]:
    """Returns the section `network` of each tenant with NetworkPolicies, by the name of the tenant."""
    return {tenant.name: tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network}


def namespaces_with_pods(cluster: Cluster) -> list[str]:
    """Returns the namespaces with pods that belong to no tenant: of the platform, of charts and of manifests."""
    callers = chain.from_iterable(tenant.caller_namespaces for tenant in cluster.tenants)
    accounts = (name.split(":")[2] for name in controllers(cluster))
    charts = (chart.namespace for chart in cluster.spec.charts.values())
    more = chain.from_iterable(chart.namespaces for chart in cluster.spec.charts.values())
    of_users = {home_namespace(manifest) for manifest in cluster.user_manifests if any(pods_of(manifest))}
    platform = {*cluster.platform_namespaces, *callers, *accounts, *charts, *more} - {*_WITHOUT_PODS}
    return sorted((platform | of_users) - {*cluster.tenant_namespaces})


def host_names_of(cluster: Cluster) -> list[str]:
    """Returns the host names that tenants may connect to. gpuc writes `*.` as `**.`, which matches all subdomains."""
    networks = networks_of(cluster).values()
    return sorted({name for network in networks for entry in network.egress for name in entry.names or ()})


def servers_of(cluster: Cluster) -> list[str]:
    """Returns the names of tenants whose pods accept connections from outside, through a load balancer."""
    return [
        name
        for name, network in networks_of(cluster).items()
        if any(entry.internet or entry.cidrs is not None for entry in network.ingress)
    ]


def policy_rows(cluster: Cluster) -> Iterator[Row]:
    """Yields the prerequisites of NetworkPolicies: kinds and features of Cilium, and the controller of load balancers.

    Source: cilium/cilium pull requests 43420 and 43913 (the prefix `**.` since 1.19); cilium/cilium v1.20.2
    Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    host_names, uses_cilium = host_names_of(cluster), cluster.network.policy_engine == "cilium"
    needed = {
        "cilium-feature/l7-proxy": uses_cilium and bool(host_names),
        "cilium-feature/multi-level-names": uses_cilium and any(name.startswith("*.") for name in host_names),
        "cilium-feature/gateway": uses_cilium and replaces_kube_proxy(cluster),
        "load-balancer-controller": bool(servers_of(cluster)),
    }
    if uses_cilium and needs_cilium_policies(cluster):
        yield "definition/cilium.io", ENGINE, {}
    yield from ((entry, ("spec", "tenants"), {}) for entry, is_needed in needed.items() if is_needed)


def replaces_kube_proxy(cluster: Cluster) -> bool:
    """Returns whether Cilium must replace kube-proxy, because a tenant uses Gateways of Cilium.

    Source: cilium/cilium v1.20.2 Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    return any(entry.gateway for network in networks_of(cluster).values() for entry in network.ingress)
