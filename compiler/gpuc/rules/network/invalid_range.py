from __future__ import annotations

from ipaddress import IPv4Network

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import declared, egress, network


@rule("NET101")
def invalid_range(cluster: Cluster) -> Findings:
    """An address range is invalid, or does not begin with its first address.

    The API server refuses an invalid range. It reads a range that begins with another address as a wider range.
    """
    for path, text in (*declared(cluster, "podCidrs", "endpointCidrs", "apiServerCidrs"), *egress(cluster)):
        found = network(text)
        if found is None:
            yield path, f"{text} is not an IPv4 range; expected CIDR notation, for example 10.0.0.0/16"
        elif not _begins(text, found):
            yield path, f"{text} does not begin with the first address of its range; expected {found}", f"write {found}"


def _begins(text: str, found: IPv4Network) -> bool:
    return text.partition("/")[0] == str(found.network_address)
