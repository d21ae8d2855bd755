from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, rule
from gpuc.rules.network.ranges import SpecRange, egress_ranges, ingress_ranges


@rule(
    "NET108",
    Severity.WARNING,
    source="aws/aws-network-policy-agent v1.4.1 pkg/fwruleprocessor/fw_rule_processor.go "
    "(ComputeMapEntriesFromEndpointRules)",
)
def range_cut_by_internet(cluster: Cluster) -> Findings:
    """A range contains addresses that the internet excludes; with the VPC CNI, these addresses stay closed.

    The VPC CNI denies the excluded ranges of all policies of a pod, unless a rule names the same or a smaller range.
    """
    if cluster.aws.network_policy_engine != "vpc-cni":
        return
    for tenant in cluster.tenants:
        for direction, (path, text) in _ranges_beside_internet(cluster, tenant):
            network = ipv4_network(text)
            cut = next(
                (
                    other
                    for other in cluster.outside_internet
                    if network and network != other and other.subnet_of(network)
                ),
                None,
            )
            if cut is not None:
                message = (
                    f"{direction} of tenant {tenant.name} has {text}, which contains {cut}; with networkPolicyEngine "
                    f"vpc-cni, {cut} stays closed, because the internet excludes it"
                )
                yield path, f"{message}; expected {cut}, or ranges without it"


def _ranges_beside_internet(cluster: Cluster, tenant: Tenant) -> Iterator[tuple[str, SpecRange]]:
    """Yields the direction and the ranges of a tenant in the directions in which it also names the internet."""
    network = tenant.spec.network
    if network.internet is not None:
        yield from (("egress", found) for found in egress_ranges(cluster) if found[0][2] == tenant.name)
    if any(entry.internet for entry in network.ingress):
        yield from (("ingress", found) for found in ingress_ranges(cluster) if found[0][2] == tenant.name)
