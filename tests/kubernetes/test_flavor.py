"""Kueue's choice of a flavor: order, borrowing, topology, and the messages of refusals."""

import pytest
from msgspec.structs import replace

from gpuc.kubernetes.flavor import Choice, Flavor, Group, Queue, choose, topology_refusal
from gpuc.kubernetes.quota import Key, Node, Quota, add_usage, connect

GPU = "nvidia.com/gpu"
PLAIN = {name: Flavor(name) for name in ("first", "second")}


def queue(first: int, second: int, other: int = 0) -> Queue:
    """Returns a ClusterQueue with two flavors, and another ClusterQueue lends its whole quota of the first flavor."""
    quotas = {("first", GPU): Quota(first), ("second", GPU): Quota(second)}
    nodes = connect([Node("a", True, "x", quotas), Node("b", True, "x", {("first", GPU): Quota(other)})], [], Node)
    own = next(node for node in nodes if node.name == "a")
    return Queue(own, [Group(frozenset((GPU,)), ("first", "second"))])


def chosen(
    queue: Queue, count: int, level: str | None = None, flavors: dict[str, Flavor] = PLAIN,
    before: dict[Key, int] | None = None,
) -> Choice:  # fmt: skip
    return choose(queue, {GPU: count}, level, flavors.get, {} if before is None else before)


def test_the_first_flavor_that_fits_is_taken() -> None:
    assert chosen(queue(8, 8), 8).names == ["first"]
    assert chosen(queue(4, 8), 8).names == ["second"]
    assert chosen(queue(8, 8), 8).borrowed == {}


@pytest.mark.parametrize(("stops", "name", "borrowed"), [(True, "first", {GPU: 4}), (False, "second", {})])
def test_whether_borrowing_ends_the_search_is_the_queues_choice(
    stops: bool, name: str, borrowed: dict[str, int]
) -> None:
    found = chosen(replace(queue(4, 8, 4), stops_at_borrowing=stops), 8)
    assert (found.names, found.borrowed) == ([name], borrowed)


def test_of_two_that_borrow_the_first_stays_when_it_is_as_near() -> None:
    assert chosen(replace(queue(4, 4, 4), stops_at_borrowing=False), 8).names == ["first"]


def test_earlier_pod_sets_count() -> None:
    before: dict[Key, int] = {}
    assert chosen(queue(8, 4), 8, before=before).names == ["first"]
    assert chosen(queue(8, 4), 4, before=before).names == ["second"]
    refused = chosen(queue(8, 4), 4, before=before)
    assert refused.flavors == {}
    assert refused.attempts[0].reasons == (
        "insufficient quota for nvidia.com/gpu in flavor first, previously considered podsets requests (8) + current "
        "podset request (4) > maximum capacity (8)",
    )
    assert before == {("first", GPU): 8, ("second", GPU): 4}, "what is refused takes nothing"


def test_what_others_hold_cannot_be_had_now() -> None:
    quotas = {("first", GPU): Quota(4)}
    own, lender = (Node(name, True, "x", dict(quotas)) for name in "ab")
    connect([own, lender], [], Node)
    usage: dict[tuple[Node, Key], int] = {}
    add_usage(lender, ("first", GPU), 2, usage)
    waiting = Queue(own, [Group(frozenset((GPU,)), ("first",))], usage=usage)
    assert chosen(waiting, 6).borrowed == {GPU: 2}
    attempt = chosen(waiting, 7).attempts[0]
    words = "insufficient unused quota for nvidia.com/gpu in flavor first, 1 more needed"
    assert (attempt.refused_by, attempt.reasons) == ("quota", (words,))


def test_what_no_group_covers_is_unavailable() -> None:
    found = choose(queue(8, 8), {GPU: 1, "cpu": 1, "memory": 0}, None, PLAIN.get, {})
    assert found.flavors == {}
    assert [attempt.reasons for attempt in found.attempts if attempt.refused_by == "resource"] == [
        ("resource cpu unavailable in ClusterQueue",)
    ]


@pytest.mark.parametrize(
    ("first", "level", "words"),
    [
        (None, None, "flavor first not found"),
        (Flavor("first", taint="a=b:NoSchedule"), None, "untolerated taint a=b:NoSchedule in flavor first"),
        (Flavor("first", matches_selector=False), None, "flavor first doesn't match node affinity"),
        (Flavor("first"), "", 'Flavor "first" does not support TopologyAwareScheduling'),
        (Flavor("first", True, ("rack",)), None, 'Flavor "first" supports only TopologyAwareScheduling'),
        (Flavor("first", True, ("rack",)), "row", 'Flavor "first" does not contain the requested level'),
    ],
)
def test_flavors_that_do_not_match_are_passed_over(first: Flavor | None, level: str | None, words: str) -> None:
    second = Flavor("second", level is not None)
    found = chosen(queue(8, 8), 8, level, {"second": second} | ({"first": first} if first else {}))
    assert found.names == ["second"]
    assert found.attempts[0].reasons == (words,)


@pytest.mark.parametrize("level", [None, "", "rack"])
def test_a_queue_of_topologies_places_all_of_its_work_by_them(level: str | None) -> None:
    flavors = {"first": Flavor("first", True, ("rack", "host")), "second": Flavor("second", True)}
    assert chosen(replace(queue(8, 8), is_all_topology=True), 8, level, flavors).names == ["first"]


def test_a_topology_that_is_full_says_how_much_would_fit() -> None:
    assert topology_refusal("block-host", 3, 4) == 'topology "block-host" allows to fit only 3 out of 4 pod(s)'
    assert topology_refusal("host", 0, 1) == 'topology "host" doesn\'t allow to fit any of 1 pod(s)'
