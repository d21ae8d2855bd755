"""Subnets, security groups, and the engine that enforces NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gpuc.emit.network import needs_cilium_policies
from gpuc.emit.policy_facts import controllers
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.objects.object_set import home_namespace
from gpuc.objects.pods import pods_of
from gpuc.spec.network import Network
from gpuc.substrates.eks.chapters import AWS, HERE
from gpuc.substrates.eks.scaling import aws
from gpuc.substrates.eks.section import SecurityGroups, Subnets

_WITHOUT_PODS = ("default", "kube-node-lease", "kube-public")
"""Namespaces of Kubernetes in which the platform runs no pods."""
_TENANTS = ("spec", "tenants")
_ENGINE = ("spec", "network", "policyEngine")


def network(cluster: Cluster) -> Chapter:
    """Returns the chapter about the network."""
    networks = _networks(cluster)
    host_names = _host_names(cluster)
    values = {
        "isolates": bool(networks),
        "host_names": host_names,
        "deep_names": [name for name in host_names if name.startswith("*.")],
        "gateway": [name for name, network in networks.items() if any(entry.gateway for entry in network.ingress)],
        "servers": _servers(cluster),
        "open_to_clients": any(entry.internet for network in networks.values() for entry in network.ingress),
        "platform_namespaces": _namespaces_with_pods(cluster),
        "selection": _selection,
    }
    return written(cluster, HERE / "network", "Network", _network_rows(cluster), **values)


def _networks(cluster: Cluster) -> dict[str, Network]:
    """Returns the network settings of isolated tenants by name of the tenant."""
    return {tenant.name: tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network}


def _network_rows(cluster: Cluster) -> Iterator[Row]:
    settings = aws(cluster)
    engine, subnets, groups = cluster.network.policy_engine, settings.subnets, settings.security_groups
    known = {
        "name": ",".join(names(subnets)),
        "selector": selector(subnets, "--subnet-ids"),
        "zones": ", ".join(settings.zones),
    }
    yield "subnets", (*AWS, "subnets"), known
    known = {"name": ",".join(names(groups)), "selector": selector(groups, "--group-ids")}
    yield "security-groups", (*AWS, "securityGroups"), known
    if not _networks(cluster):
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
    settings, describe = (
        aws(cluster),
        f"describe-cluster --region {aws(cluster).region} --name {aws(cluster).eks_cluster}",
    )
    services = f"aws eks {describe} --query cluster.kubernetesNetworkConfig.serviceIpv4Cidr"
    filters = f"--filters Name=prefix-list-name,Values=com.amazonaws.{settings.region}.s3"
    prefixes = f"describe-prefix-lists --region {settings.region} {filters} --query 'PrefixLists[].Cidrs'"
    return {
        "check_of_services": services if cluster.network.service_cidr else "",
        "check_of_s3": f"aws ec2 {prefixes}",
        "services": f'; "{cluster.network.service_cidr}"' if cluster.network.service_cidr else "",
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
    networks = _networks(cluster).values()
    return sorted({name for network in networks for entry in network.egress for name in entry.names or ()})


def _servers(cluster: Cluster) -> list[str]:
    """Returns the tenants that accept connections from addresses, which a load balancer forwards."""
    return [
        name
        for name, network in _networks(cluster).items()
        if any(entry.internet or entry.cidrs is not None for entry in network.ingress)
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


def replaces_kube_proxy(cluster: Cluster) -> bool:
    """Returns whether Cilium has to replace kube-proxy: its Gateways need the replacement.

    Source: cilium/cilium v1.20.2 Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    return any(entry.gateway for network in _networks(cluster).values() for entry in network.ingress)


def _selection(selected: Subnets | SecurityGroups, noun: str, of_ids: str) -> str:
    """Describes the selected resources in Markdown: "a subnet with the tags `a=b`", or "one of the subnets `subnet-1`".

    Args:
        noun: the words before the tags.
        of_ids: the words before the ids.
    """
    listed = ", ".join(f"`{name}`" for name in names(selected))
    return f"{of_ids if selected.ids else f'{noun} with the tags'} {listed}"


def names(selection: Subnets | SecurityGroups) -> list[str]:
    """Returns the ids of the selected resources, or their tags as key=value."""
    return selection.ids or [f"{key}={value}" for key, value in (selection.tags or {}).items()]


def selector(selected: Subnets | SecurityGroups, option: str) -> str:
    """Returns the arguments with which the aws command selects the resources. `option` is the option for ids."""
    if selected.ids:
        return f"{option} {' '.join(selected.ids)}"
    filters = (f"Name=tag:{key},Values={value}" for key, value in (selected.tags or {}).items())
    return "--filters " + " ".join(map(_quoted, filters))


def _quoted(text: str) -> str:
    """Quotes a text as one word of a shell command, also if the text needs no quotes."""
    return "'" + text.replace("'", "'\\''") + "'"
