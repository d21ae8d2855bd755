"""Address ranges of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster

Place = tuple[Path, str]
"""A path and the range that stands there."""


def network(text: str) -> IPv4Network | None:
    """The range of a text; None where it is none, which is a finding of its own."""
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def egress(cluster: Cluster) -> Iterator[Place]:
    """What tenants may call."""
    for tenant in cluster.tenants:
        for index, rule in enumerate(tenant.spec.network.egress):
            yield (*tenant.path, "network", "egress", index, "cidr"), rule.cidr


def declared(cluster: Cluster, *keys: str) -> Iterator[Place]:
    """What the spec says of the cloud, by the keys of cloud.aws."""
    lists = {
        "podCidrs": cluster.aws.pod_cidrs,
        "endpointCidrs": cluster.aws.endpoint_cidrs,
        "apiServerCidrs": cluster.aws.api_server_cidrs,
    }
    for key in keys:
        for index, text in enumerate(lists[key]):
            yield ("spec", "cloud", "aws", key, index), text


def overlapping_pods(cluster: Cluster, text: str) -> str:
    """The first range of pods that a range overlaps; empty where it overlaps none."""
    one = network(text)
    for _, pods in declared(cluster, "podCidrs"):
        other = network(pods)
        if one is not None and other is not None and one.overlaps(other):
            return pods
    return ""
