"""Differences of documents, field by field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.plan.differences import MISSING, FieldChange, differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "key", "x", "y"]), inner),
    max_leaves=8,
)

X, Y = {"name": "x"}, {"name": "y"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [(("a", "b"), 1, 2)]),
        ({"a": 1}, {}, [(("a",), 1, MISSING)]),
        ({}, {"a": {"b": 1}}, [(("a",), MISSING, {"b": 1})]),
        ({"a": ["x", "y"]}, {"a": ["y", "z"]}, [(("a",), ["x", "y"], ["y", "z"])]),
        ({"a": True}, {"a": 1}, [(("a",), True, 1)]),
        (
            [{"name": "x", "v": 1}, {"name": "y", "v": 1}],
            [{"name": "y", "v": 2}, {"name": "z", "v": 1}],
            [((0, "v"), 1, 2), ((1,), MISSING, {"name": "z", "v": 1}), ((0,), {"name": "x", "v": 1}, MISSING)],
        ),
        ([{"v": 1}], [{"v": 1}, {"v": 2}], [((1,), MISSING, {"v": 2})]),
        ([X, Y], [Y, X], [((), [X, Y], [Y, X])]),
        ([X, {**Y, "v": 1}], [Y, X], [((1, "v"), 1, MISSING)]),
        ([True], [1], [((), [True], [1])]),
    ],
)
def test_differences(before: Any, after: Any, expected: list[tuple[Any, Any, Any]]) -> None:
    assert list(differences(before, after)) == [FieldChange(*row) for row in expected]


@given(JSON, JSON)
def test_only_different_documents_have_differences(before: Any, after: Any) -> None:
    assert bool(list(differences(before, after))) == (repr_typed(before) != repr_typed(after))
    assert list(differences(before, before)) == []


def repr_typed(value: Any) -> str:
    """The document in a form in which true and 1 differ, and the order of keys does not matter."""
    if isinstance(value, dict):
        return "map " + str(sorted((key, repr_typed(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return str([repr_typed(inner) for inner in value])
    return f"{type(value).__name__} {value!r}"
