"""Ranges of IP addresses in NetworkPolicies, and tests whether a range contains addresses of pods."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, collapse_addresses, ip_address, ip_network

from gpuc.kubernetes.selector import Invalid

Range = tuple[int, int, int]
"""The IP version, and the first and last address as numbers."""
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


def block(cidr: str, exceptions: Iterable[str] = ()) -> Ranges:
    """Returns the address ranges of an ipBlock: the CIDR without the exceptions.

    Raises:
        Invalid: if the CIDR or an exception is not a CIDR.
    """
    remaining: Ranges = (_range(cidr),)
    for exception in exceptions:
        remaining = subtract(remaining, _range(exception))
    return remaining


def read_ranges(cidrs: Iterable[str]) -> Ranges:
    """Returns the address ranges of CIDRs.

    Raises:
        Invalid: if a string is not a CIDR.
    """
    return tuple(_range(cidr) for cidr in cidrs)


def subtract(ranges: Ranges, excluded: Range) -> Ranges:
    """Returns the ranges without the addresses in one excluded range."""
    version, first, last = excluded
    remaining: list[Range] = []
    for known in ranges:
        if known[0] != version or known[1] > last or known[2] < first:
            remaining.append(known)
            continue
        if known[1] < first:
            remaining.append((version, known[1], first - 1))
        if known[2] > last:
            remaining.append((version, last + 1, known[2]))
    return tuple(remaining)


def overlap(some: Sequence[Range], others: Sequence[Range]) -> bool:
    """Returns whether two lists of ranges have a common address."""
    return any(left[0] == right[0] and left[1] <= right[2] and right[1] <= left[2] for left in some for right in others)


def contains(ranges: Ranges, address: str) -> bool:
    """Returns whether the ranges contain an address, given as text."""
    parsed = ip_address(address)
    number = int(parsed)
    return overlap(ranges, ((parsed.version, number, number),))


def range_text(first: Range, last: Range) -> str:
    """Returns text for the addresses from the start of a range to the end of another: "10.0.0.0-10.255.255.255"."""
    kind = IPv4Address if first[0] == 4 else IPv6Address
    return f"{kind(first[1])}-{kind(last[2])}"


_PRIVATE = read_ranges(("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
"""The private IPv4 ranges (RFC 1918 and RFC 6598). Private pod networks use these ranges."""


def contains_pods(ranges: Ranges, pods: Ranges | None) -> bool:
    """Returns whether the ranges certainly contain addresses of pods.

    Args:
        pods: the address ranges of pods; None if these ranges are unknown. Without them, only ranges that include all
            private addresses certainly contain pods.
    """
    if pods is not None:
        return overlap(ranges, pods)
    return all(any(known[0] == private[0] and known[1] <= private[1] and private[2] <= known[2] for known in ranges)
               for private in _PRIVATE)  # fmt: skip


def may_contain_pods(ranges: Ranges) -> bool:
    """Returns whether pods could have addresses in the ranges: if they include private IPv4 or any IPv6 addresses."""
    return overlap(ranges, _PRIVATE) or any(version == 6 for version, _, _ in ranges)


ANY_IPV4 = "0.0.0.0/0"
"""All IPv4 addresses."""
SPECIAL_RANGES = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
)  # fmt: skip
"""The IPv4 ranges that are not part of the internet: private, shared, loopback, link-local, multicast and others.

Source: IANA IPv4 Special-Purpose Address Registry; IANA IPv4 Multicast Address Space Registry
"""


PUBLIC = (*block(ANY_IPV4, SPECIAL_RANGES), *read_ranges(("2000::/3",)))
"""The addresses of the internet. The IPv6 range is that of global unicast addresses (RFC 4291)."""

_INTERNET_SIZE = 2**31


def is_internet(ranges: Ranges) -> bool:
    """Returns whether the ranges mean the internet: more than half of all IPv4 addresses, with public addresses."""
    return sum(last - first + 1 for _, first, last in ranges) > _INTERNET_SIZE and overlap(ranges, PUBLIC)


def ipv4_network(text: str) -> IPv4Network | None:
    """Parses an IPv4 range such as 10.0.0.0/8. Returns None for other text. Bits behind the prefix are ignored."""
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def joined(cidrs: Iterable[str]) -> tuple[IPv4Network, ...]:
    """Returns sorted IPv4 ranges in which adjacent and overlapping ranges are joined. Omits invalid ranges."""
    networks = (network for cidr in cidrs if (network := ipv4_network(cidr)) is not None)
    return tuple(collapse_addresses(networks))
