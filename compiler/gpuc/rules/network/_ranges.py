"""Address ranges in the spec."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Related
from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster

SpecRange = tuple[Path, str]
"""A path in the spec, and the address range at the path."""


def egress_ranges(cluster: Cluster) -> Iterator[SpecRange]:
    """Yields the address ranges outside of the cluster that pods of tenants may connect to."""
    for tenant in cluster.tenants:
        for index, rule in enumerate(tenant.spec.network.egress):
            path = (*tenant.path, "network", "egress", index)
            if rule.cidr is not None:
                yield (*path, "cidr"), rule.cidr
            for number, cidr in enumerate(rule.cidrs or ()):
                yield (*path, "cidrs", number), cidr


def ingress_ranges(cluster: Cluster) -> Iterator[SpecRange]:
    """Yields the address ranges from which clients and health checks may connect to pods of tenants."""
    for tenant in cluster.tenants:
        for index, entry in enumerate(tenant.spec.network.ingress):
            for key, cidrs in (("cidrs", entry.cidrs), ("healthChecks", entry.health_checks)):
                for number, cidr in enumerate(cidrs or ()):
                    yield (*tenant.path, "network", "ingress", index, key, number), cidr


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
    given = ipv4_network(text)
    for _, pod_text in aws_ranges(cluster, "podCidrs"):
        pod_range = ipv4_network(pod_text)
        if given is not None and pod_range is not None and given.overlaps(pod_range):
            return pod_text
    return ""


def pod_range_place(cluster: Cluster, pod_range: str) -> Related:
    """Returns the place of a range of podCidrs."""
    return Related("addresses of pods", ("spec", "cloud", "aws", "podCidrs", cluster.aws.pod_cidrs.index(pod_range)))
