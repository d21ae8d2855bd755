from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import NamedTuple

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, rule
from gpuc.spec.network import Allowed


class _Range(NamedTuple):
    """A range of an egress entry."""

    path: Path
    entry: Allowed
    network: IPv4Network


@rule("NET107", Severity.WARNING)
def redundant_egress(cluster: Cluster) -> Findings:
    """The egress of a tenant has a range that another range, or the internet, already includes for the same ports.

    The entry has no effect. A later removal of the entry would not close the range.
    """
    for tenant in cluster.tenants:
        ranges = list(_ranges(tenant))
        internet = tenant.spec.network.internet
        for index, (path, entry, network) in enumerate(ranges):
            wider = next(
                (
                    other
                    for number, other in enumerate(ranges)
                    if _includes(other.entry, entry)
                    and network.subnet_of(other.network)
                    and (network != other.network or number < index)
                ),
                None,
            )
            if wider is not None:
                relation = "is repeated" if wider.network == network else f"is part of the egress to {wider.network}"
                message = f"egress of tenant {tenant.name} to {network} {relation}"
                related = [Related(f"egress to {wider.network}", wider.path)]
                yield path, f"{message}; expected ranges that do not contain each other", f"remove {network}", related
            elif (
                internet
                and _includes(internet, entry)
                and not any(network.overlaps(other) for other in cluster.outside_internet)
            ):
                message = f"egress of tenant {tenant.name} to {network} is part of network.internet"
                related = [Related("egress to the internet", (*tenant.path, "network", "internet"), on_key=True)]
                expected = "expected only ranges that the internet does not include"
                yield path, f"{message}; {expected}", f"remove {network}", related


def _ranges(tenant: Tenant) -> Iterator[_Range]:
    for index, entry in enumerate(tenant.spec.network.egress):
        path = (*tenant.path, "network", "egress", index)
        for number, cidr in enumerate(entry.ranges):
            network = ipv4_network(cidr)
            if network is not None:
                yield _Range((*path, "cidr") if entry.cidr else (*path, "cidrs", number), entry, network)


def _includes(wider: Allowed, entry: Allowed) -> bool:
    """Returns whether an exception has all ports, namespaces and pods of another."""
    ports = {(port.port, port.protocol) for port in entry.ports}
    return (
        ports <= {(port.port, port.protocol) for port in wider.ports}
        and (wider.only is None or set(entry.only or ("",)) <= set(wider.only))
        and (wider.only_pods is None or wider.only_pods == entry.only_pods)
    )
