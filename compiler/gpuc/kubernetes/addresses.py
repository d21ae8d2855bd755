"""IP address ranges of NetworkPolicy peers, and whether they contain pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network

from gpuc.kubernetes.invalid import Invalid

Range = tuple[int, int, int]
"""IP version, first and last address as numbers."""
Ranges = tuple[Range, ...]


@lru_cache(maxsize=4096)
def _range(cidr: str) -> Range:
    if not cidr.rpartition("/")[2].isdecimal() or "/" not in cidr:
        raise Invalid(cidr)
    try:
        network = ip_network(cidr, strict=False)
    except ValueError:
        raise Invalid(cidr) from None
    return network.version, int(network.network_address), int(network.broadcast_address)


def block(cidr: str, holes: Iterable[str] = ()) -> Ranges:
    """Returns the addresses of an ipBlock: its CIDR without the exceptions.

    Raises:
        Invalid: if a text is not a CIDR.
    """
    left: Ranges = (_range(cidr),)
    for hole in holes:
        left = without(left, _range(hole))
    return left


def read_ranges(cidrs: Iterable[str]) -> Ranges:
    """Reads CIDRs.

    Raises:
        Invalid: if a text is not a CIDR.
    """
    return tuple(_range(cidr) for cidr in cidrs)


def without(ranges: Ranges, hole: Range) -> Ranges:
    """Returns ranges without the addresses of another range."""
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
    """Returns whether two lists of ranges have an address in common."""
    return any(left[0] == right[0] and left[1] <= right[2] and right[1] <= left[2] for left in some for right in others)


def contains(ranges: Ranges, address: str) -> bool:
    """Returns whether ranges contain an address."""
    parsed = ip_address(address)
    number = int(parsed)
    return meets(ranges, ((parsed.version, number, number),))


_PRIVATE = read_ranges(("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
"""The private address ranges (RFC 1918 and RFC 6598), in which pods privately have their addresses."""


def holds_pods(ranges: Ranges, pods: Ranges | None) -> bool:
    """Returns whether ranges contain addresses of pods.

    Args:
        pods: the address ranges of pods. If they are unknown, only ranges with all private addresses surely contain
            pods; the proof has to assume that other ranges do not.
    """
    if pods is not None:
        return meets(ranges, pods)
    return all(any(known[0] == private[0] and known[1] <= private[1] and private[2] <= known[2] for known in ranges)
               for private in _PRIVATE)  # fmt: skip


def may_hold_pods(ranges: Ranges) -> bool:
    """Returns whether ranges can contain addresses of pods: private IPv4 addresses, or any IPv6 address."""
    return meets(ranges, _PRIVATE) or any(version == 6 for version, _, _ in ranges)
