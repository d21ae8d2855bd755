"""Address ranges in the spec."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster

SpecRange = tuple[Path, str]
"""A path in the spec, and the address range at the path."""


def parse_range(text: str) -> IPv4Network | None:
    """Parses an address range. Returns None if the text is invalid; rule NET101 reports invalid ranges."""
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def egress_ranges(cluster: Cluster) -> Iterator[SpecRange]:
    """Yields the address ranges outside of the cluster that pods of tenants may connect to."""
    for tenant in cluster.tenants:
        for index, rule in enumerate(tenant.spec.network.egress):
            yield (*tenant.path, "network", "egress", index, "cidr"), rule.cidr


def aws_ranges(cluster: Cluster, *keys: str) -> Iterator[SpecRange]:
    """Yields the address ranges of the given keys of cloud.aws, such as podCidrs or s3GatewayCidrs."""
    lists = {
        "podCidrs": cluster.aws.pod_cidrs,
        "endpointCidrs": cluster.aws.endpoint_cidrs,
        "s3GatewayCidrs": cluster.aws.s3_gateway_cidrs,
        "apiServerCidrs": cluster.aws.api_server_cidrs,
    }
    for key in keys:
        for index, text in enumerate(lists[key]):
            yield ("spec", "cloud", "aws", key, index), text


def overlapping_pod_range(cluster: Cluster, text: str) -> str:
    """Returns the first range of podCidrs that overlaps the given range, or an empty string if there is none."""
    given = parse_range(text)
    for _, pod_text in aws_ranges(cluster, "podCidrs"):
        pod_range = parse_range(pod_text)
        if given is not None and pod_range is not None and given.overlaps(pod_range):
            return pod_text
    return ""
