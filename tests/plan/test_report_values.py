"""The changes of values in words."""

from typing import Any

import pytest

from gpuc.plan.differences import MISSING
from gpuc.plan.report.words import LENGTH, change_lines


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (1, 2, ["1 -> 2"]),
        ("", "a", ['"" -> a']),
        (MISSING, {"a": 1}, ['new: {"a": 1}']),
        (True, MISSING, ["removed: true"]),
        (["a", "b"], ["b", "c"], ["added c; removed a"]),
        (["a", "b"], ["b", "a"], ['the order changes: ["a", "b"] -> ["b", "a"]']),
        ("a\nb\n", "a\nc\n", ["the text changes", "-b", "+c"]),
        ("- a\n--- b\n", "- a\n", ["the text changes", "---- b"]),
        ("a\n", "a", ["only line breaks change"]),
        (
            "",
            "\n".join("abcdefghijklm"),
            ["the text changes", *(f"+{sign}" for sign in "abcdefghijkl"), "and 1 more line"],
        ),
        ("a", "x" * 200, [f"a -> {'x' * (LENGTH - 4)} ..."]),
        ("a\n", "x" * 200 + "\n", ["the text changes", "-a", f"+{'x' * (LENGTH - 5)} ..."]),
    ],
)
def test_a_change_in_words(before: Any, after: Any, lines: list[str]) -> None:
    assert change_lines(before, after) == lines


def test_long_texts_that_begin_in_the_same_way_show_their_difference() -> None:
    start = "max by (node) " * 20
    (line,) = change_lines(f"{start}== 4", f"{start}== 5")
    first, second = line.split(" -> ")
    assert first != second
    assert (first[-4:], second[-4:]) == ("== 4", "== 5")
