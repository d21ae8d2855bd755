"""Subnets, security groups, and the engine that enforces NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gpuc.emit.controllers import controllers
from gpuc.emit.network import needs_cilium_policies
from gpuc.emit.prerequisites.aws_resources import selected, selection, selector
from gpuc.emit.prerequisites.record import AWS, Chapter, Row, written
from gpuc.emit.prerequisites.system_nodes import replaces_kube_proxy
from gpuc.model import Cluster
from gpuc.objects.object_set import home_namespace
from gpuc.objects.pods import pods_of

_WITHOUT_PODS = ("default", "kube-node-lease", "kube-public")
"""Namespaces of Kubernetes in which the platform runs no pods."""
_TENANTS = ("spec", "tenants")
_ENGINE = (*AWS, "networkPolicyEngine")


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about the network."""
    networks = {tenant.name: tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network}
    host_names = _host_names(cluster)
    values = {
        "isolates": bool(networks),
        "host_names": host_names,
        "deep_names": [name for name in host_names if name.startswith("*.")],
        "gateway": [name for name, network in networks.items() if any(entry.gateway for entry in network.ingress)],
        "servers": _servers(cluster),
        "open_to_clients": any(entry.internet for network in networks.values() for entry in network.ingress),
        "platform_namespaces": _namespaces_with_pods(cluster),
        "selection": selection,
    }
    return written(cluster, "network", "Network", _rows(cluster), **values)


def _rows(cluster: Cluster) -> Iterator[Row]:
    settings = cluster.aws
    engine, subnets, groups = settings.network_policy_engine, settings.subnets, settings.security_groups
    known = {
        "name": selected(subnets),
        "selector": selector(subnets, "--subnet-ids"),
        "zones": ", ".join(settings.zones),
    }
    yield "subnets", (*AWS, "subnets"), known
    known = {"name": selected(groups), "selector": selector(groups, "--group-ids")}
    yield "security-groups", (*AWS, "securityGroups"), known
    if not any(tenant.isolates_network for tenant in cluster.tenants):
        return
    if engine in ("vpc-cni", "cilium", "none"):
        yield f"network-policy-engine/{engine}", _ENGINE, _ranges(cluster)
    else:
        yield "unverified-engine", _ENGINE, {"name": engine}
    if engine == "vpc-cni":
        yield from (("allow-all", _ENGINE, {"name": name}) for name in _namespaces_with_pods(cluster))
    if engine == "cilium":
        yield from _cilium(cluster)
    if _servers(cluster):
        yield "load-balancer-controller", _TENANTS, {}


def _ranges(cluster: Cluster) -> dict[str, str]:
    """Returns the commands that check the ranges of Services and of S3, with their expected output."""
    settings, describe = cluster.aws, f"describe-cluster --region {cluster.aws.region} --name {cluster.aws.eks_cluster}"
    services = f"aws eks {describe} --query cluster.kubernetesNetworkConfig.serviceIpv4Cidr"
    filters = f"--filters Name=prefix-list-name,Values=com.amazonaws.{settings.region}.s3"
    prefixes = f"describe-prefix-lists --region {settings.region} {filters} --query 'PrefixLists[].Cidrs'"
    return {
        "check_of_services": services if settings.service_cidr else "",
        "check_of_s3": f"aws ec2 {prefixes}",
        "services": f'; "{settings.service_cidr}"' if settings.service_cidr else "",
        "s3": ", ".join(settings.s3_gateway_cidrs) or "any list: the spec has no s3GatewayCidrs",
    }


def _namespaces_with_pods(cluster: Cluster) -> list[str]:
    """Returns the namespaces with pods that belong to no tenant: of the platform, of charts and of manifests."""
    callers = chain.from_iterable(tenant.caller_namespaces for tenant in cluster.tenants)
    accounts = (name.split(":")[2] for name in controllers(cluster))
    charts = (chart.namespace for chart in cluster.spec.charts.values())
    more = chain.from_iterable(chart.namespaces for chart in cluster.spec.charts.values())
    of_users = {home_namespace(manifest) for manifest in cluster.user_manifests if any(pods_of(manifest))}
    platform = {*cluster.platform_namespaces, *callers, *accounts, *charts, *more} - {*_WITHOUT_PODS}
    return sorted((platform | of_users) - {*cluster.tenant_namespaces})


def _host_names(cluster: Cluster) -> list[str]:
    """Returns the host names that tenants may connect to. gpuc emits `**.` for `*.`, for subdomains of all levels."""
    networks = (tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network)
    return sorted({name for network in networks for entry in network.egress for name in entry.names or ()})


def _servers(cluster: Cluster) -> list[str]:
    """Returns the tenants that accept connections from addresses, which a load balancer forwards."""
    return [
        tenant.name
        for tenant in cluster.tenants
        if tenant.isolates_network
        and any(entry.internet or entry.cidrs is not None for entry in tenant.spec.network.ingress)
    ]


def _cilium(cluster: Cluster) -> Iterator[Row]:
    """Yields what the CiliumNetworkPolicies need: their definitions, and features of Cilium.

    Source: cilium/cilium pull requests 43420 and 43913 (the prefix `**.` since 1.19); cilium/cilium v1.20.2
    Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    host_names = _host_names(cluster)
    if needs_cilium_policies(cluster):
        yield "definition/cilium.io", _ENGINE, {}
    if host_names:
        yield "cilium-feature/l7-proxy", _TENANTS, {}
    if any(name.startswith("*.") for name in host_names):
        yield "cilium-feature/multi-level-names", _TENANTS, {}
    if replaces_kube_proxy(cluster):
        yield "cilium-feature/gateway", _TENANTS, {}
