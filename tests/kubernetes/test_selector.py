"""Domains and selectors, compared with an enumeration, and the texts of requirements."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from gpuc.kubernetes.selector import (
    ANY,
    NODE_OPERATORS,
    NOTHING,
    POOL_OPERATORS,
    LabelIndex,
    Requirement,
    Selector,
    equals,
    matches,
    requirement,
    satisfiable,
)  # fmt: skip

TEXTS = (None, "x", "y", "3", "5", "7", "other")
"""Values of a label; None is a missing one, the last one is named by no requirement."""
WORLDS = [
    {key: text for key, text in zip("ab", texts, strict=True) if text is not None} for texts in product(TEXTS, repeat=2)
]
_listed = st.tuples(st.sampled_from(("In", "NotIn")), st.lists(st.sampled_from(("x", "y", "5")), min_size=1).map(tuple))
_bare = st.tuples(st.sampled_from(("Exists", "DoesNotExist")), st.just(()))
_bound = st.tuples(st.sampled_from(("Gt", "Lt", "Gte", "Lte")), st.sampled_from((("3",), ("5",), ("7",))))
_keys = st.sampled_from(("a", "b"))


def _requirements(rules: st.SearchStrategy[tuple[str, tuple[str, ...]]]) -> st.SearchStrategy[Requirement]:
    return st.builds(lambda key, rule: requirement(key, *rule, POOL_OPERATORS), _keys, rules)


LABELS = _requirements(_listed | _bare)
ALL = _requirements(_listed | _bare | _bound)
SELECTORS = st.lists(LABELS, max_size=3).map(tuple)


@given(ALL, ALL)
def test_the_meeting_of_two_domains_holds_what_both_hold(first: Requirement, other: Requirement) -> None:
    met = first.domain.meet(other.domain)
    for text in TEXTS:
        assert met.allows(text) == (first.domain.allows(text) and other.domain.allows(text)), text
    assert not met.is_empty or not any(met.allows(text) for text in TEXTS)
    assert first.domain.meet(ANY) == first.domain


@given(SELECTORS, st.lists(SELECTORS, max_size=4))
def test_labels_exist_where_enumeration_finds_some(wanted: Selector, unwanted: list[Selector]) -> None:
    found = any(matches(wanted, own) and not any(matches(selector, own) for selector in unwanted) for own in WORLDS)
    assert satisfiable(wanted, unwanted) == found


@given(SELECTORS)
def test_an_index_finds_what_a_scan_finds(selector: Selector) -> None:
    things = {str(number): own for number, own in enumerate(WORLDS)}
    index = LabelIndex(things)
    assert sorted(index.select(selector)) == sorted(name for name, own in things.items() if matches(selector, own))


def test_the_empty_selector_takes_everything_and_a_missing_one_nothing() -> None:
    assert all(matches((), own) and not matches(NOTHING, own) for own in WORLDS)


def test_a_requirement_is_written_as_in_a_node_selector() -> None:
    for operator, values, text in (
        ("In", ("y", "x"), "In x, y"), ("NotIn", ("x",), "NotIn x"), ("Exists", (), "Exists"),
        ("DoesNotExist", (), "DoesNotExist"), ("Gt", ("4",), "Gt 4"), ("Lt", ("4",), "Lt 4"),
    ):  # fmt: skip
        assert str(requirement("a", operator, values, NODE_OPERATORS)) == f"a {text}"
    assert str(equals("a", "x")) == "a In x"
