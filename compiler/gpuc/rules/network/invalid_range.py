from __future__ import annotations

from ipaddress import IPv4Network

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import declared, egress, network


@rule("NET101")
def invalid_range(cluster: Cluster) -> Findings:
    """An address range is invalid, or does not begin with its first address.

    The API server refuses an address part above 255. It reads a range with bits behind its prefix as another, wider
    range.
    """
    for path, text in (*declared(cluster, "podCidrs", "endpointCidrs", "apiServerCidrs"), *egress(cluster)):
        found = network(text)
        if found is None:
            yield path, f"{text} is not a range of IPv4 addresses"
        elif not _begins(text, found):
            yield path, f"{text} lies in {found}; a range begins with its first address", f"write {found}"


def _begins(text: str, found: IPv4Network) -> bool:
    return text.partition("/")[0] == str(found.network_address)
