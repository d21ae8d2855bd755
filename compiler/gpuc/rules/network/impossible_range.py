from __future__ import annotations

from ipaddress import IPv4Network

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import declared, egress, network


@rule("NET101")
def impossible_range(cluster: Cluster) -> Findings:
    """A range of addresses does not exist, or does not begin where it says.

    The API server refuses an address above 255, and reads a range with bits behind its prefix as another, wider one.
    """
    for path, text in (*declared(cluster, "podCidrs", "endpointCidrs", "apiServerCidrs"), *egress(cluster)):
        found = network(text)
        if found is None:
            yield path, f"there is no range {text}"
        elif not _begins(text, found):
            yield path, f"{text} lies in {found}; a range begins with its first address", f"write {found}"


def _begins(text: str, found: IPv4Network) -> bool:
    return text.partition("/")[0] == str(found.network_address)
