from __future__ import annotations

from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import aws_ranges, egress_ranges, ingress_ranges


@rule("NET101")
def invalid_range(cluster: Cluster) -> Findings:
    """An address range is invalid, or does not begin with its first address.

    The API server refuses an invalid range. A range that begins with another address, such as 10.0.250.1/28, also
    includes the earlier addresses of 10.0.250.0/28.
    """
    lists = aws_ranges(cluster, "podCidrs", "endpointCidrs", "s3GatewayCidrs", "apiServerCidrs")
    services = cluster.aws.service_cidr
    single = [(("spec", "cloud", "aws", "serviceCidr"), services)] if services is not None else []
    for path, text in (*lists, *single, *egress_ranges(cluster), *ingress_ranges(cluster)):
        address_range = ipv4_network(text)
        if address_range is None:
            yield path, f"{text} is not an IPv4 range; expected CIDR notation, for example 10.0.0.0/16"
        elif text.partition("/")[0] != str(address_range.network_address):
            message = f"{text} does not begin with the first address of its range; expected {address_range}"
            yield path, message, f"replace {text} by {address_range}"
