"""Functions over IP addresses, networks and URLs that Kubernetes adds to CEL.

An address, a network and a URL are maps of one entry, so that equal ones are equal: {"ip": "10.0.0.1"}.

Source: k8s.io/apiserver v0.35 pkg/cel/library (ip.go, cidr.go, urls.go), Go's net/netip and net/url
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from gpuc.lint.crds.answers import NoValueError

Named = dict[str, str]
_Address = IPv4Address | IPv6Address
_BITS = re.compile(r"0|[1-9]\d?\d?", re.ASCII)
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>[A-Za-z0-9._-]+)(?P<port>:\d+)?(?P<path>/[A-Za-z0-9/._~-]*)?"
    r"(?P<query>\?(?:[A-Za-z0-9._~-]+=[A-Za-z0-9/._~-]*(?:&(?!$)|$))*)?"
)
"""URLs of which no reader doubts what they say."""
_NO_SCHEME = re.compile(r"(?!\*$)[^:/][^:]*|")


def is_ip(text: str) -> bool:
    """Whether a text is an address, not one of a zone, not IPv4 in IPv6."""
    return _parsed_ip(text) is not None


def ip(text: str) -> Named:
    """An address."""
    found = _parsed_ip(text)
    if found is None:
        raise NoValueError(f'"{text}" is no IP address')
    return {"ip": str(found)}


def is_canonical(text: str) -> bool:
    """Whether an address is written as Go would print it."""
    return ip(text)["ip"] == text


def family(one: Named) -> int:
    """4 or 6."""
    return _ip(one).version


def is_unspecified(one: Named) -> bool:
    """0.0.0.0 or ::"""
    return _ip(one).is_unspecified


def is_loopback(one: Named) -> bool:
    """Of 127.0.0.0/8, or ::1."""
    return _ip(one).is_loopback


def is_link_local_multicast(one: Named) -> bool:
    """Of 224.0.0.0/24, or of ff02::/16 with any flags."""
    found = _ip(one)
    if isinstance(found, IPv4Address):
        return found.packed[:3] == b"\xe0\x00\x00"
    return found.packed[0] == 0xFF and found.packed[1] & 0x0F == 0x02


def is_link_local_unicast(one: Named) -> bool:
    """Of 169.254.0.0/16, or of fe80::/10."""
    return _ip(one).is_link_local


def is_global_unicast(one: Named) -> bool:
    """Any other address that is of one host: private ones too."""
    found = _ip(one)
    if found == IPv4Address("255.255.255.255"):
        return False
    return not (found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local)


def is_cidr(text: str) -> bool:
    """Whether a text is an address and the length of a prefix."""
    return _parsed_cidr(text) is not None


def cidr(text: str) -> Named:
    """An address in a network."""
    found = _parsed_cidr(text)
    if found is None:
        raise NoValueError(f'"{text}" is no network address')
    return {"cidr": f"{found[0]}/{found[1]}"}


def prefix_length(one: Named) -> int:
    """How many bits of a network are fixed."""
    return _cidr(one)[1]


def ip_of(one: Named) -> Named:
    """The address of a network, with the bits behind the prefix."""
    return {"ip": str(_cidr(one)[0])}


def masked(one: Named) -> Named:
    """The network without the bits behind the prefix."""
    return {"cidr": str(ip_network(one["cidr"], strict=False))}


def contains_ip(one: Named, other: Named | str) -> bool:
    """Whether an address is in a network."""
    return _ip(ip(other) if isinstance(other, str) else other) in ip_network(one["cidr"], strict=False)


def contains_cidr(one: Named, other: Named | str) -> bool:
    """Whether all of a network is in another."""
    inner = ip_network((cidr(other) if isinstance(other, str) else other)["cidr"], strict=False)
    outer = ip_network(one["cidr"], strict=False)
    if isinstance(outer, IPv6Network) != isinstance(inner, IPv6Network):
        return False
    return outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def is_url(text: str) -> bool:
    """Whether Go takes a text for the address of a request.

    Raises:
        ValueError: when that is not known here.
    """
    if _URL.fullmatch(text):
        return True
    if _NO_SCHEME.fullmatch(text):
        return False
    raise ValueError(f'whether Go takes "{text}" for a URL is not known here')


def url(text: str) -> Named:
    """A URL."""
    if not is_url(text):
        raise NoValueError(f'"{text}" is no URL')
    return {"url": text}


def part(name: str, one: Named) -> str:
    """The scheme, host, port or path of a URL; empty where it has none."""
    match = _URL.fullmatch(one["url"])
    assert match is not None
    found = match[name] or ""
    return found.lower() if name == "scheme" else found.removeprefix(":")


def host(one: Named) -> str:
    """The host of a URL with the port, where it has one."""
    return ":".join(filter(None, (part("host", one), part("port", one))))


def query(one: Named) -> dict[str, list[str]]:
    """The values of a URL's query by name."""
    found: dict[str, list[str]] = {}
    for pair in part("query", one)[1:].split("&"):
        name, equals, value = pair.partition("=")
        if equals:
            found.setdefault(name, []).append(value)
    return found


def _parsed_ip(text: str) -> _Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and (found.scope_id is not None or found.ipv4_mapped is not None):
        return None
    return found


def _parsed_cidr(text: str) -> tuple[_Address, int] | None:
    address, slash, bits = text.rpartition("/")
    found = _parsed_ip(address)
    if not slash or found is None or not _BITS.fullmatch(bits) or int(bits) > found.max_prefixlen:
        return None
    return found, int(bits)


def _ip(one: Named) -> _Address:
    return ip_address(one["ip"])


def _cidr(one: Named) -> tuple[_Address, int]:
    address, _, bits = one["cidr"].rpartition("/")
    return ip_address(address), int(bits)
