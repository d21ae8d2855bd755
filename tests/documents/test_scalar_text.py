"""The position of a character of a YAML string, in all styles of YAML."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpuc.documents.scalar_text import mark_in_string
from gpuc.source.document import compose
from tests.lanes import drawn

WORDS = st.lists(st.text("ab(){}.é&|=", min_size=1, max_size=6), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key: a && b", (1, 11)),
        ('key: "a && b"', (1, 12)),
        ("key: 'a && b'", (1, 12)),
        ("key: >-\n  a\n  && b\n", (3, 6)),
        ("key: |  # comment\n  a &&\n    b\n", (3, 5)),
        ("key: a\n  && b\n", (2, 6)),
        ("key: >-\r\n  a &&\r\n  b\r\n", (3, 3)),
        (r'key: "a \x26& b"', None),
    ],
)
def test_a_character_has_the_position_in_the_file(text: str, expected: tuple[int, int] | None) -> None:
    node, _ = compose(text, "f.yaml")
    assert node is not None
    value = node.value["key"]
    found = mark_in_string(text, value.mark, value.value, value.value.index("b"))
    assert (found and (found.line, found.column)) == expected


@drawn(150, deadline=None)
@given(WORDS, st.sampled_from(["|", ">", "'", '"', None]), st.integers(20, 60))
def test_a_found_position_has_the_character(words: list[str], style: str | None, width: int) -> None:
    string = " ".join(words)
    text: str = yaml.dump({"key": string}, default_style=style, width=width, allow_unicode=True)
    node, _ = compose(text, "f.yaml")
    if node is None:
        return
    child = next(iter(node.value.values()))
    lines = text.split("\n")
    for offset, character in enumerate(string):
        mark = mark_in_string(text, child.mark, string, offset)
        if mark and character != " ":
            assert lines[mark.line - 1][mark.column - 1] == character
