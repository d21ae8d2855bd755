"""Kueue's arithmetic for nested cohorts: examples computed by hand, and random cohorts compared with definitions."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from gpuc.kubernetes.quota import Key, Node, Quota, add_usage, connect

KEY = ("f", "nvidia.com/gpu")


def queue(name: str, parent: str, *figures: int | None) -> Node:
    return Node(name, True, parent, {KEY: Quota(*figures)} if figures else {})  # type: ignore[arg-type]


def cohort(name: str, parent: str = "", *figures: int | None) -> Node:
    return Node(name, False, parent, {KEY: Quota(*figures)} if figures else {})  # type: ignore[arg-type]


def forest(queues: list[Node], cohorts: list[Node]) -> dict[str, Node]:
    return {node.name: node for node in connect(queues, cohorts, Node)}


def test_cohorts_of_cohorts_lend_what_their_limits_leave() -> None:
    """Cohort root has quota 4, cohort left has quota 2 and lends at most 5, and cohort right lends its whole quota."""
    found = forest(
        [queue("a", "left", 8, None, 6), queue("b", "left", 4), queue("c", "right", 10, 3), queue("d", "right", 1)],
        [cohort("root", "", 4), cohort("left", "root", 2, None, 5), cohort("right", "root")],
    )
    # left: 2 + (8 - 2) + 4 = 12, of which 7 stay; root: 4 + 5 + 11 = 20.
    assert {name: found[name].capacity(KEY) for name in "abcd"} == {"a": 2 + 7 + 20, "b": 27, "c": 13, "d": 20}
    assert {name: found[name].lent(KEY) for name in "abcd"} == {"a": 2 + 7 + 20 - 8, "b": 27 - 4, "c": 10, "d": 19}


def test_what_is_borrowed_comes_from_as_near_as_it_can() -> None:
    found = forest(
        [queue("a", "left", 8), queue("b", "left", 4), queue("c", "right", 10)],
        [cohort("root"), cohort("left", "root"), cohort("right", "root")],
    )
    assert [found["a"].distance(KEY, wanted, {}) for wanted in (8, 9, 12, 13, 22, 23)] == [0, 1, 1, 2, 2, 2]
    usage: dict[tuple[Node, Key], int] = {}
    add_usage(found["b"], KEY, 3, usage)
    assert [found["a"].distance(KEY, wanted, usage) for wanted in (8, 9, 10)] == [0, 1, 2]


def test_a_cohort_that_is_only_named_joins_its_queues() -> None:
    found = forest([queue("a", "x", 3, None, 1), queue("b", "x", 5, 0)], [])
    assert [found[name].capacity(KEY) for name in "ab"] == [2 + 1 + 5, 5]


def test_a_queue_without_a_cohort_has_its_own() -> None:
    found = forest([queue("a", "", 3)], [])
    assert (found["a"].capacity(KEY), found["a"].lent(KEY), found["a"].capacity(("f", "cpu"))) == (3, 0, 0)


def test_cohorts_in_a_circle_share_nothing() -> None:
    found = forest(
        [queue("a", "x", 3), queue("b", "z", 5), queue("c", "good", 7)],
        [cohort("x", "y"), cohort("y", "x"), cohort("z", "x"), cohort("good")],
    )
    assert {name for name, node in found.items() if node.is_circular} == {"a", "b", "x", "y", "z"}
    assert [found[name].capacity(KEY) for name in "abc"] == [3, 5, 7]


@dataclass
class Drawn:
    """A forest and what its queues use."""

    nodes: dict[str, Node]
    used: dict[str, int]
    usage: dict[tuple[Node, Key], int]


@st.composite
def forests(draw: st.DrawFn) -> Drawn:
    """Cohorts whose parents come before them, and queues anywhere below them."""
    small = st.integers(0, 9)
    limit = st.none() | small
    cohorts: list[Node] = []
    for number in range(draw(st.integers(0, 4))):
        parent = draw(st.sampled_from(["", *(found.name for found in cohorts)]))
        limits = (draw(limit), draw(limit)) if parent else (None, None)
        cohorts.append(cohort(f"c{number}", parent, draw(small), *limits))
    queues = [
        queue(f"q{number}", draw(st.sampled_from(["", *(found.name for found in cohorts)])), *draw(
            st.tuples(small, limit, limit)))
        for number in range(draw(st.integers(1, 5)))
    ]  # fmt: skip
    nodes = forest(queues, cohorts)
    usage: dict[tuple[Node, Key], int] = {}
    used = dict.fromkeys((found.name for found in queues), 0)
    for found in draw(st.lists(st.sampled_from(queues), max_size=8)):
        part = draw(small)
        if part <= found.available(KEY, usage):
            add_usage(found, KEY, part, usage)
            used[found.name] += part
    return Drawn(nodes, used, usage)


def local(drawn: Drawn, node: Node) -> int:
    return max(0, subtree(drawn, node) - node.quotas[KEY].lend) if node.quotas[KEY].lend is not None else 0


def children(drawn: Drawn, node: Node) -> list[Node]:
    return [child for child in drawn.nodes.values() if child.parent is node]


def subtree(drawn: Drawn, node: Node) -> int:
    """Returns the quota of a subtree by Kueue's definition: the own quota, and the quota that children lend."""
    return node.quotas[KEY].nominal + sum(
        subtree(drawn, child) - local(drawn, child) for child in children(drawn, node)
    )


def used(drawn: Drawn, node: Node) -> int:
    """Returns the usage of a cohort: the usage of its children above the quota that they do not lend."""
    if node.is_queue:
        return drawn.used[node.name]
    return sum(max(0, used(drawn, child) - local(drawn, child)) for child in children(drawn, node))


def fits(drawn: Drawn, node: Node, count: int) -> bool:
    """Returns whether a node can use `count` more: from its own quota, or borrowed within its limit and its parent."""
    before, own = used(drawn, node), local(drawn, node)
    if node.parent is None:
        return before + count <= subtree(drawn, node)
    borrow = node.quotas[KEY].borrow
    if borrow is not None and max(before + count, own) - subtree(drawn, node) > borrow:
        return False
    beyond = max(0, before + count - own) - max(0, before - own)
    return fits(drawn, node.parent, beyond)


@given(forests())
def test_what_is_used_of_a_cohort_is_what_its_children_take_of_it(drawn: Drawn) -> None:
    for node in drawn.nodes.values():
        assert drawn.usage.get((node, KEY), 0) == used(drawn, node)
        assert node.subtree.get(KEY, 0) == subtree(drawn, node)


@given(forests(), st.integers(1, 60))
def test_as_much_is_available_as_fits(drawn: Drawn, count: int) -> None:
    for node in drawn.nodes.values():
        assert (count <= node.available(KEY, drawn.usage)) == fits(drawn, node, count), node.name


@given(forests())
def test_nothing_is_available_beyond_the_capacity(drawn: Drawn) -> None:
    for node in drawn.nodes.values():
        quota = node.quotas[KEY]
        assert node.available(KEY, drawn.usage) + drawn.usage.get((node, KEY), 0) <= node.capacity(KEY)
        if node.parent is not None:
            most = subtree(drawn, node) + node.lent(KEY)
            assert node.capacity(KEY) == (most if quota.borrow is None else min(most, node.subtree[KEY] + quota.borrow))


@given(forests(), st.integers(1, 60))
def test_only_what_is_beyond_a_nodes_own_comes_from_above(drawn: Drawn, count: int) -> None:
    for node in (found for found in drawn.nodes.values() if found.is_queue):
        own = used(drawn, node) + count <= node.quotas[KEY].nominal
        assert (node.distance(KEY, count, drawn.usage) == 0) == (own or node.parent is None)
