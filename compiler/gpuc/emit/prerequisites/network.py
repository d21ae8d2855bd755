"""Subnets, security groups, and the engine that enforces NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gpuc.emit.controllers import controllers
from gpuc.emit.network import needs_cilium_policies
from gpuc.emit.prerequisites.aws_resources import selection, selector
from gpuc.emit.prerequisites.record import AWS, Chapter, Prerequisite, aws, kubectl, names
from gpuc.model import Cluster
from gpuc.objects.object_set import home_namespace
from gpuc.objects.pods import pods_of
from gpuc.spec.cloud import SecurityGroups, Subnets

_WITHOUT_PODS = ("default", "kube-node-lease", "kube-public")
"""Namespaces of Kubernetes in which the platform runs no pods."""
_CILIUM_CONFIG = "-n kube-system get configmap cilium-config -o"


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about the network."""
    networks = {tenant.name: tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network}
    prerequisites = tuple(_prerequisites(cluster))
    values = {
        "isolates": bool(networks),
        "host_names": _host_names(cluster),
        "deep_names": [name for name in _host_names(cluster) if name.startswith("*.")],
        "gateway": [name for name, network in networks.items() if any(entry.gateway for entry in network.ingress)],
        "servers": [
            name
            for name, network in networks.items()
            if any(entry.internet or entry.cidrs is not None for entry in network.ingress)
        ],
        "open_to_clients": any(entry.internet for network in networks.values() for entry in network.ingress),
        "platform_namespaces": names(item for item in prerequisites if item.id.startswith("allow-all/")),
        "selection": selection,
    }
    return Chapter("Network", "network.md.j2", prerequisites, values)


def _prerequisites(cluster: Cluster) -> Iterator[Prerequisite]:
    yield from _resources(cluster)
    engine = cluster.aws.network_policy_engine
    if not any(tenant.isolates_network for tenant in cluster.tenants):
        return
    yield _engine(cluster, engine)
    if engine == "vpc-cni":
        yield from (_allow_all(cluster, name) for name in _namespaces_with_pods(cluster))
    if engine == "cilium":
        yield from _cilium(cluster)
    if _accepts_clients(cluster):
        yield Prerequisite(
            id="load-balancer-controller",
            what="the AWS Load Balancer Controller",
            reason="without the controller, load balancers have instance targets, which the policies block",
            checks=(f"{kubectl(cluster)} get deployments -A -l app.kubernetes.io/name=aws-load-balancer-controller",),
            expected="a Deployment with ready pods",
            path=("spec", "tenants"),
        )


def _resources(cluster: Cluster) -> Iterator[Prerequisite]:
    subnets, groups = cluster.aws.subnets, cluster.aws.security_groups
    query = "--query 'Subnets[].[SubnetId,AvailabilityZone,AvailableIpAddressCount]' --output table"
    yield Prerequisite(
        id=f"subnets/{selected(subnets)}",
        what=f"subnets in {', '.join(cluster.aws.zones)}",
        reason="without a subnet in a zone, no node starts there; without subnets, no EC2NodeClass becomes Ready",
        checks=(aws(cluster, "ec2 describe-subnets", f"{selector(subnets, '--subnet-ids')} {query}"),),
        expected="a subnet with free addresses in each zone",
        path=(*AWS, "subnets"),
    )
    query = "--query 'SecurityGroups[].GroupId'"
    yield Prerequisite(
        id=f"security-groups/{selected(groups)}",
        what="the security groups of nodes",
        reason="without a security group, no EC2NodeClass becomes Ready",
        checks=(aws(cluster, "ec2 describe-security-groups", f"{selector(groups, '--group-ids')} {query}"),),
        expected="the ids of the security groups",
        path=(*AWS, "securityGroups"),
    )


def selected(selection: Subnets | SecurityGroups) -> str:
    """Returns the name of a selection in the ids of prerequisites: its ids, or its tags as key=value."""
    return ",".join(selection.ids or [f"{key}={value}" for key, value in (selection.tags or {}).items()])


def _engine(cluster: Cluster, engine: str) -> Prerequisite:
    program, settings = kubectl(cluster), cluster.aws
    checks: list[str] = []
    expected = "NetworkPolicies have no effect"
    if engine == "vpc-cni":
        pattern = "grep -A1 -e enable-network-policy -e NETWORK_POLICY_ENFORCING_MODE"
        checks.append(f"{program} -n kube-system get daemonset aws-node -o yaml | {pattern}")
        expected = "--enable-network-policy=true, and the mode strict"
    if engine == "cilium":
        fields = "{.data.enable-policy} {.data.cni-chaining-mode} {.data.policy-cidr-match-mode}"
        checks.append(f"{program} {_CILIUM_CONFIG} jsonpath='{fields}'")
        expected = "default, and nothing else"
    if checks and settings.service_cidr:
        query = "--query cluster.kubernetesNetworkConfig.serviceIpv4Cidr"
        checks.append(aws(cluster, "eks describe-cluster", f"--name {settings.eks_cluster} {query}"))
        expected += f'; "{settings.service_cidr}"'
    if checks:
        filters = f"--filters Name=prefix-list-name,Values=com.amazonaws.{settings.region}.s3"
        checks.append(aws(cluster, "ec2 describe-prefix-lists", f"{filters} --query 'PrefixLists[].Cidrs'"))
        expected += f"; {', '.join(settings.s3_gateway_cidrs) or 'any list: the spec has no s3GatewayCidrs'}"
    return Prerequisite(
        id=f"network-policy-engine/{engine}",
        what=f"the network policy engine {engine}",
        reason="without the engine, NetworkPolicies have no effect, and nothing isolates tenants",
        checks=tuple(checks),
        expected=expected,
        path=(*AWS, "networkPolicyEngine"),
    )


def _allow_all(cluster: Cluster, namespace: str) -> Prerequisite:
    return Prerequisite(
        id=f"allow-all/{namespace}",
        what=f"a NetworkPolicy that allows all traffic of the pods in namespace `{namespace}`",
        reason="in strict mode, a pod without a NetworkPolicy can make and accept no connection",
        checks=(f"{kubectl(cluster)} get networkpolicies -A --field-selector metadata.name=allow-all",),
        expected=f"allow-all in namespace {namespace}",
        path=(*AWS, "networkPolicyEngine"),
    )


def _namespaces_with_pods(cluster: Cluster) -> list[str]:
    """Returns the namespaces with pods that belong to no tenant: of the platform, of charts and of manifests."""
    callers = chain.from_iterable(tenant.caller_namespaces for tenant in cluster.tenants)
    accounts = (name.split(":")[2] for name in controllers(cluster))
    charts = (chart.namespace for chart in cluster.spec.charts.values())
    more = chain.from_iterable(chart.namespaces for chart in cluster.spec.charts.values())
    written = {home_namespace(manifest) for manifest in cluster.user_manifests if any(pods_of(manifest))}
    platform = {*cluster.platform_namespaces, *callers, *accounts, *charts, *more} - {*_WITHOUT_PODS}
    return sorted((platform | written) - {*cluster.tenant_namespaces})


def _host_names(cluster: Cluster) -> list[str]:
    """Returns the host names that tenants may connect to. gpuc emits `**.` for `*.`, for subdomains of all levels."""
    networks = (tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network)
    return sorted({name for network in networks for entry in network.egress for name in entry.names or ()})


def _accepts_clients(cluster: Cluster) -> bool:
    """Returns whether a tenant accepts connections from addresses, which a load balancer forwards."""
    networks = (tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network)
    return any(entry.internet or entry.cidrs is not None for network in networks for entry in network.ingress)


def _cilium(cluster: Cluster) -> Iterator[Prerequisite]:
    """Yields what the CiliumNetworkPolicies need: their definitions, and features of Cilium.

    Source: cilium/cilium pull requests 43420 and 43913 (the prefix `**.` since 1.19); cilium/cilium v1.20.2
    Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    program = kubectl(cluster)
    if needs_cilium_policies(cluster):
        yield Prerequisite(
            id="definition/cilium.io",
            what="the definitions of Cilium",
            reason="without the definitions, the Application of the tenants fails",
            checks=(f"{program} get customresourcedefinition ciliumnetworkpolicies.cilium.io",),
            expected="the definition",
            path=(*AWS, "networkPolicyEngine"),
        )
    host_names = _host_names(cluster)
    if host_names:
        yield Prerequisite(
            id="cilium-feature/l7-proxy",
            what="the DNS proxy of Cilium (`l7Proxy: true`, the default)",
            reason="without the proxy, Cilium does not learn the addresses of host names, and blocks the connections",
            checks=(f"{program} {_CILIUM_CONFIG} jsonpath='{{.data.enable-l7-proxy}}'",),
            expected="true",
            path=("spec", "tenants"),
        )
    if any(name.startswith("*.") for name in host_names):
        image = "-o jsonpath='{.spec.template.spec.containers[0].image}'"
        yield Prerequisite(
            id="cilium-feature/multi-level-names",
            what="Cilium 1.19 or later, in which the prefix `**.` matches subdomains of all levels",
            reason="in an earlier version, `**.` matches one level only, and blocks deeper names without a message",
            checks=(f"{program} -n kube-system get daemonset cilium {image}",),
            expected="an image with the tag v1.19 or later",
            path=("spec", "tenants"),
        )
    yield from _gateway(cluster)


def _gateway(cluster: Cluster) -> Iterator[Prerequisite]:
    program = kubectl(cluster)
    networks = (tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network)
    if any(entry.gateway for network in networks for entry in network.ingress):
        yield Prerequisite(
            id="cilium-feature/gateway",
            what="the Gateway API of Cilium, with its definitions",
            reason="without a Gateway, no connection has the entity that the policies allow",
            checks=(
                f"{program} get crd gateways.gateway.networking.k8s.io httproutes.gateway.networking.k8s.io",
                f"{program} {_CILIUM_CONFIG} jsonpath='{{.data.enable-gateway-api}} {{.data.kube-proxy-replacement}}'",
            ),
            expected="both definitions; true true",
            path=("spec", "tenants"),
        )
