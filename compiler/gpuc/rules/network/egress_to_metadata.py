from __future__ import annotations

from ipaddress import IPv4Address

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import egress, network

METADATA = IPv4Address("169.254.169.254")


@rule(
    "NET103",
    source="EC2 user guide, instance metadata; EKS best practices, restrict access to the instance profile",
)
def egress_to_metadata(cluster: Cluster) -> Findings:
    """A tenant may call the metadata service of the node.

    The metadata service gives pods the credentials of the node, with every permission that nodes have in the account.
    """
    for path, text in egress(cluster):
        found = network(text)
        if found is not None and METADATA in found:
            yield path, f"{text} contains {METADATA}, the instance metadata service; write narrower ranges"
