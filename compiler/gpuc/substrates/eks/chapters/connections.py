"""The chapter of the README about subnets, security groups, and the engine that enforces NetworkPolicies."""

from collections.abc import Iterator

from gpuc.emit.prerequisites.connections import (
    ENGINE,
    host_names_of,
    namespaces_with_pods,
    networks_of,
    policy_rows,
    servers_of,
)
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.substrates.eks.chapters import AWS, HERE
from gpuc.substrates.eks.scaling import aws
from gpuc.substrates.eks.section import SecurityGroups, Subnets


def network(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the subnets, security groups and NetworkPolicies of the cluster."""
    networks = networks_of(cluster)
    host_names = host_names_of(cluster)
    values = {
        "isolates": bool(networks),
        "host_names": host_names,
        "deep_names": [name for name in host_names if name.startswith("*.")],
        "gateway": [name for name, network in networks.items() if any(entry.gateway for entry in network.ingress)],
        "servers": servers_of(cluster),
        "open_to_clients": any(entry.internet for network in networks.values() for entry in network.ingress),
        "platform_namespaces": namespaces_with_pods(cluster),
        "selection": _selection,
    }
    return written(cluster, HERE / "network", "Network", _network_rows(cluster), **values)


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
    if not networks_of(cluster):
        return
    if engine in ("vpc-cni", "cilium", "none"):
        yield f"network-policy-engine/{engine}", ENGINE, _ranges(cluster)
    else:
        yield "unverified-engine", ENGINE, {"name": engine}
    if engine == "vpc-cni":
        yield from (("allow-all", ENGINE, {"name": name}) for name in namespaces_with_pods(cluster))
    yield from policy_rows(cluster)


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


def _selection(selected: Subnets | SecurityGroups, noun: str, of_ids: str) -> str:
    """Describes the selected resources in Markdown: "a subnet with the tags `a=b`", or "one of the subnets `subnet-1`".

    Args:
        noun: the words before the tags.
        of_ids: the words before the ids.
    """
    listed = ", ".join(f"`{name}`" for name in names(selected))
    return f"{of_ids if selected.ids else f'{noun} with the tags'} {listed}"


def names(selection: Subnets | SecurityGroups) -> list[str]:
    """Returns the ids of the selected subnets or security groups, or else the tags that select them, as key=value."""
    return selection.ids or [f"{key}={value}" for key, value in (selection.tags or {}).items()]


def selector(selected: Subnets | SecurityGroups, option: str) -> str:
    """Returns options of an aws command that list the subnets or security groups: `option` with ids, or --filters."""
    if selected.ids:
        return f"{option} {' '.join(selected.ids)}"
    filters = (f"Name=tag:{key},Values={value}" for key, value in (selected.tags or {}).items())
    return "--filters " + " ".join(map(_quoted, filters))


def _quoted(text: str) -> str:
    """Quotes a text as one word of a shell command, also if the text needs no quotes."""
    return "'" + text.replace("'", "'\\''") + "'"
