"""Ports of NetworkPolicy rules: numbers, ranges and names of one protocol or of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuc.kubernetes.refused import Refused

PROTOCOLS = ("TCP", "UDP", "SCTP")
_PORT_MAX = 65535


class Span(NamedTuple):
    """Ports of one protocol that follow one another."""

    protocol: str
    low: int = 1
    high: int = _PORT_MAX
    """Both ends belong to it."""
    name: str = ""
    """Where not empty: only those ports of the called pod that carry this name."""


Ports = tuple[Span, ...]
ALL: Ports = tuple(Span(protocol) for protocol in PROTOCOLS)


def span(protocol: Any = "TCP", port: Any = None, end: Any = None) -> Span:
    """A port of a rule, by its protocol, its number or name, and the last number of a range; all ports without one.

    Source: k8s.io/api v0.35 networking/v1, NetworkPolicyPort

    Raises:
        Refused: for ports that the API server does not take.
    """
    if protocol not in PROTOCOLS:
        raise Refused(f"protocol {protocol}")
    if port is None and end is None:
        return Span(protocol)
    if isinstance(port, str) and end is None and any(sign.isalpha() for sign in port):
        return Span(protocol, name=port)
    low = _number(port)
    high = low if end is None else _number(end)
    if high < low:
        raise Refused(f"endPort {high} below {low}")
    return Span(protocol, low, high)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _PORT_MAX:
        raise Refused(f"port {value}")
    return value


def opens(ports: Ports, protocol: str, number: int, named: Mapping[tuple[str, str], frozenset[int]]) -> bool:
    """Whether a port of a pod is among them; named has the numbers of the pod's ports by protocol and name."""
    return any(
        span.protocol == protocol
        and (number in named.get((protocol, span.name), ()) if span.name else span.low <= number <= span.high)
        for span in ports
    )


def meet(some: Ports, others: Ports) -> Ports:
    """The ports that both may be. A name may stand for any number: the owner of the called pod chooses it."""
    if some == ALL:
        return others
    if others == ALL:
        return some
    met = []
    for one in some:
        for other in others:
            low, high = max(one.low, other.low), min(one.high, other.high)
            if one.protocol == other.protocol and low <= high:
                met.append(Span(one.protocol, low, high, "+".join(sorted({one.name, other.name} - {""}))))
    return tuple(dict.fromkeys(met))


def described(ports: Iterable[Span]) -> str:
    """Ports as people write them: "TCP 80, 8000-8100, UDP 53"."""
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
