"""Address ranges and ports, compared with an enumeration. tests/isolation compares the complete verdicts."""

from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.kubernetes.addresses import block, contains, overlap
from gpuc.kubernetes.ports import ALL, PROTOCOLS, Span, described, meet, opens, span, without
from gpuc.kubernetes.selector import Invalid

ADDRESSES = [str(address) for address in ip_network("10.0.0.0/28")]
CIDRS = st.builds(lambda number, length: f"10.0.0.{number}/{length}", st.integers(0, 15), st.integers(28, 32))
SPANS = st.builds(
    lambda protocol, low, length: Span(protocol, low, low + length),
    st.sampled_from(PROTOCOLS), st.integers(1, 12), st.integers(0, 5),
)  # fmt: skip


@given(CIDRS, st.lists(CIDRS, max_size=3), CIDRS)
def test_a_block_has_its_addresses_less_the_exceptions(cidr: str, holes: list[str], other: str) -> None:
    inside = {str(address) for address in ip_network(cidr, strict=False)}
    for hole in holes:
        inside -= {str(address) for address in ip_network(hole, strict=False)}
    read = block(cidr, holes)
    assert {address for address in ADDRESSES if contains(read, address)} == inside
    assert overlap(read, block(other)) == any(contains(block(other), address) for address in inside)


@pytest.mark.parametrize("cidr", ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "x/8", ""])
def test_what_is_no_range_is_refused(cidr: str) -> None:
    with pytest.raises(Invalid):
        block(cidr)


@given(st.lists(SPANS, max_size=3).map(tuple), st.lists(SPANS, max_size=3).map(tuple))
def test_ports_meet_where_both_are_open(some: tuple[Span, ...], others: tuple[Span, ...]) -> None:
    met = meet(some, others)
    for protocol in PROTOCOLS:
        for number in range(1, 20):
            both = opens(some, protocol, number, {}) and opens(others, protocol, number, {})
            assert opens(met, protocol, number, {}) == both


@given(st.lists(SPANS, max_size=3).map(tuple), st.lists(SPANS, max_size=3).map(tuple))
def test_ports_are_left_where_only_the_first_is_open(some: tuple[Span, ...], others: tuple[Span, ...]) -> None:
    left = without(some, others)
    for protocol in PROTOCOLS:
        for number in range(1, 20):
            only = opens(some, protocol, number, {}) and not opens(others, protocol, number, {})
            assert opens(left, protocol, number, {}) == only


def test_only_the_same_name_and_all_ports_include_a_port_name() -> None:
    named = span(port="web")
    assert without((named,), (span(port=80), span(port="other"))) == (named,)
    assert without((named,), (span(port="web"),)) == without((named,), ALL) == ()
    assert without((span(port=80),), (named,)) == (span(port=80),)


@pytest.mark.parametrize(
    ("port", "text"),
    [
        ({}, "TCP all ports"),
        ({"protocol": "UDP", "port": 53}, "UDP 53"),
        ({"port": 8000, "end": 8100}, "TCP 8000-8100"),
        ({"port": "web"}, "TCP ports named web"),
    ],
)
def test_a_port_is_a_number_a_range_a_name_or_all(port: dict[str, Any], text: str) -> None:
    assert described([span(**port)]) == text
    assert described(ALL) == "all ports"


@pytest.mark.parametrize(
    "port", [{"protocol": "tcp"}, {"port": 0}, {"port": True}, {"port": "80"}, {"port": 9, "end": 8}, {"end": 8}]
)
def test_what_the_api_server_does_not_take_is_refused(port: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        span(**port)
