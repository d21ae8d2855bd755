"""Address ranges of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster

SpecRange = tuple[Path, str]
"""A path of the spec and the address range at this path."""


def network(text: str) -> IPv4Network | None:
    """Parses an address range. Returns None if the text is invalid, which rule NET101 reports."""
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def egress(cluster: Cluster) -> Iterator[SpecRange]:
    """Yields the ranges that pods of tenants may connect to."""
    for tenant in cluster.tenants:
        for index, rule in enumerate(tenant.spec.network.egress):
            yield (*tenant.path, "network", "egress", index, "cidr"), rule.cidr


def declared(cluster: Cluster, *keys: str) -> Iterator[SpecRange]:
    """Yields the ranges that the spec has under the given keys of cloud.aws."""
    lists = {
        "podCidrs": cluster.aws.pod_cidrs,
        "endpointCidrs": cluster.aws.endpoint_cidrs,
        "apiServerCidrs": cluster.aws.api_server_cidrs,
    }
    for key in keys:
        for index, text in enumerate(lists[key]):
            yield ("spec", "cloud", "aws", key, index), text


def overlapping_pods(cluster: Cluster, text: str) -> str:
    """Returns the first range of podCidrs that overlaps the given range, or an empty string if there is none."""
    tested = network(text)
    for _, pods in declared(cluster, "podCidrs"):
        other = network(pods)
        if tested is not None and other is not None and tested.overlaps(other):
            return pods
    return ""
