from __future__ import annotations

from ipaddress import IPv4Address

from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import egress_ranges

METADATA = IPv4Address("169.254.169.254")


@rule(
    "NET103",
    source="EC2 user guide, instance metadata; EKS best practices, restrict access to the instance profile",
)
def egress_to_metadata(cluster: Cluster) -> Findings:
    """The egress of a tenant includes the instance metadata service.

    Pods get the credentials of the node from the instance metadata service, with all permissions of the node in the AWS
    account.
    """
    for path, text in egress_ranges(cluster):
        address_range = ipv4_network(text)
        if address_range is not None and METADATA in address_range:
            message = f"egress of tenant {path[2]} to {text} includes {METADATA}, the instance metadata service"
            yield path, message, f"replace {text} by ranges without {METADATA}"
