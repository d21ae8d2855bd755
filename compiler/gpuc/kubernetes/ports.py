"""The ports of NetworkPolicy rules: numbers, ranges and names."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gpuc.kubernetes.selector import Invalid

PROTOCOLS = ("TCP", "UDP", "SCTP")
_PORT_MAX = 65535


class Span(NamedTuple):
    """A range of ports with the same protocol."""

    protocol: str
    low: int = 1
    high: int = _PORT_MAX
    """The last port, included in the range."""
    name: str = ""
    """A port name; if set, the range includes only ports with this name of the pod that gets the connection."""


Ports = tuple[Span, ...]
ALL: Ports = tuple(Span(protocol) for protocol in PROTOCOLS)


def span(protocol: Any = "TCP", port: Any = None, end: Any = None) -> Span:
    """Converts the port of a NetworkPolicy rule into a range. Without a port, the range has all ports of the protocol.

    `port` is a number or a name, and `end` is the last port of a range.

    Source: k8s.io/api v0.35 networking/v1, NetworkPolicyPort

    Raises:
        Invalid: if the API server rejects the port.
    """
    if protocol not in PROTOCOLS:
        raise Invalid(f"protocol {protocol}")
    if port is None and end is None:
        return Span(protocol)
    if isinstance(port, str) and end is None and any(sign.isalpha() for sign in port):
        return Span(protocol, name=port)
    low = _number(port)
    high = low if end is None else _number(end)
    if high < low:
        raise Invalid(f"endPort {high} below {low}")
    return Span(protocol, low, high)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _PORT_MAX:
        raise Invalid(f"port {value}")
    return value


def opens(ports: Ports, protocol: str, number: int, named: Mapping[tuple[str, str], frozenset[int]]) -> bool:
    """Returns whether the ports of a rule include a port of a pod.

    Args:
        protocol: the protocol of the pod's port.
        number: the number of the pod's port.
        named: the port numbers of the pod, by protocol and port name.
    """
    return any(
        span.protocol == protocol
        and (number in named.get((protocol, span.name), ()) if span.name else span.low <= number <= span.high)
        for span in ports
    )


def meet(some: Ports, others: Ports) -> Ports:
    """Returns the ports that both lists include.

    A port name can mean any number, because the author of the pod chooses the number.
    """
    if some == ALL:
        return others
    if others == ALL:
        return some
    met = []
    for left in some:
        for right in others:
            low, high = max(left.low, right.low), min(left.high, right.high)
            if left.protocol == right.protocol and low <= high:
                met.append(Span(left.protocol, low, high, "+".join(sorted({left.name, right.name} - {""}))))
    return tuple(dict.fromkeys(met))


def without(some: Ports, others: Ports) -> Ports:
    """Returns the ports of the first list that the second list does not include.

    Because a port name can mean any number, a range of numbers removes the name only if the range has all ports.
    """
    left = list(some)
    for other in others:
        left = [part for span in left for part in _outside(span, other)]
    return tuple(left)


def _outside(span: Span, other: Span) -> Iterator[Span]:
    """Yields the parts of a range that another range does not include."""
    is_same = span.name == other.name or (not other.name and (other.low, other.high) == (1, _PORT_MAX))
    if span.protocol != other.protocol or not is_same or span.high < other.low or span.low > other.high:
        yield span
        return
    if span.low < other.low:
        yield span._replace(high=other.low - 1)
    if span.high > other.high:
        yield span._replace(low=other.high + 1)


def described(ports: Iterable[Span]) -> str:
    """Returns the ports as text, for example "TCP 80, 8000-8100, UDP 53"."""
    spans = sorted(set(ports), key=lambda span: (PROTOCOLS.index(span.protocol), span.low, span.high, span.name))
    if set(ALL) <= set(spans):
        return "all ports"
    by_protocol: dict[str, list[str]] = {}
    for span in spans:
        by_protocol.setdefault(span.protocol, []).append(_numbers(span))
    return ", ".join(f"{protocol} {', '.join(texts)}" for protocol, texts in by_protocol.items())


def _numbers(span: Span) -> str:
    numbers = str(span.low) if span.low == span.high else f"{span.low}-{span.high}"
    if (span.low, span.high) == (1, _PORT_MAX):
        return f"ports named {span.name}" if span.name else "all ports"
    return f"{numbers} named {span.name}" if span.name else numbers
