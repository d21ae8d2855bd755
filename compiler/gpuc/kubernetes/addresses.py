"""Address ranges of NetworkPolicy peers, and whether pods have their addresses in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network

from gpuc.kubernetes.refused import Refused

Range = tuple[int, int, int]
"""IP version, first and last address as numbers."""
Ranges = tuple[Range, ...]


@lru_cache(maxsize=4096)
def _range(cidr: str) -> Range:
    if not cidr.rpartition("/")[2].isdecimal() or "/" not in cidr:
        raise Refused(cidr)
    try:
        network = ip_network(cidr, strict=False)
    except ValueError:
        raise Refused(cidr) from None
    return network.version, int(network.network_address), int(network.broadcast_address)


def block(cidr: str, holes: Iterable[str] = ()) -> Ranges:
    """The addresses of an ipBlock: its cidr without its exceptions.

    Raises:
        Refused: for a text that is no range.
    """
    left: Ranges = (_range(cidr),)
    for hole in holes:
        left = without(left, _range(hole))
    return left


def read_ranges(cidrs: Iterable[str]) -> Ranges:
    """Several ranges, none of which has exceptions.

    Raises:
        Refused: for a text that is no range.
    """
    return tuple(_range(cidr) for cidr in cidrs)


def without(ranges: Ranges, hole: Range) -> Ranges:
    """Ranges less the addresses of another."""
    version, first, last = hole
    left: list[Range] = []
    for known in ranges:
        if known[0] != version or known[1] > last or known[2] < first:
            left.append(known)
            continue
        if known[1] < first:
            left.append((version, known[1], first - 1))
        if known[2] > last:
            left.append((version, last + 1, known[2]))
    return tuple(left)


def meets(some: Sequence[Range], others: Sequence[Range]) -> bool:
    """Whether an address lies in both."""
    return any(one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2] for one in some for other in others)


def contains(ranges: Ranges, address: str) -> bool:
    """Whether an address lies in one of the ranges."""
    one = ip_address(address)
    number = int(one)
    return meets(ranges, ((one.version, number, number),))


_USUAL = read_ranges(("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
"""Where pods have their addresses where no range is given: RFC 1918 and RFC 6598."""


def holds_pods(ranges: Ranges, pods: Ranges | None) -> bool:
    """Whether pods may have addresses in the ranges.

    Where the pods' own ranges are not known, only what takes in every private address surely holds them. Of the rest
    the proof has to assume that it does not.
    """
    if pods is not None:
        return meets(ranges, pods)
    return all(any(known[0] == usual[0] and known[1] <= usual[1] and usual[2] <= known[2] for known in ranges)
               for usual in _USUAL)  # fmt: skip


def may_hold_pods(ranges: Ranges) -> bool:
    """Whether a pod could have its address in the ranges: any private one, and any of IPv6."""
    return meets(ranges, _USUAL) or any(version == 6 for version, _, _ in ranges)
