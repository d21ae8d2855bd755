"""The printers of documents: the layout, and the escapes of texts that people wrote."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc import __version__
from gpuc.diagnostics.finding import Mark, Severity
from gpuc.diagnostics.report.document import (
    Block,
    Code,
    Fold,
    Heading,
    Item,
    Span,
    Table,
    Wrapped,
    json_text,
    picked,
    position,
    section,
    strong,
)
from gpuc.diagnostics.report.markdown import page
from gpuc.diagnostics.report.printer import printed
from gpuc.diagnostics.report.terminal import Style
from tests.ci.markdown import effects

MARK = Mark("specs/a.yaml", 3, 5)


def every_block(text: str) -> list[Block]:
    """A document that has the text in each block, at each place."""
    line = (text, Span(text, "31"), strong(text), Span(text, markup="`"), Mark(text, 1, 2), text)
    item = Item(line, Span(text, "31"), line, [line, text], [line, text])
    return [
        text, line, Heading(text), Heading(line, 3), Wrapped(line, 4), item, item, Item(text), *section(text, [text]),
        Table([[text, Span(text, "1", "`"), Mark(text, 1, 2)]] * 2), Code([text]),
        Fold(text, [text, item]), Fold(Span(text, "2", "`"), [Code([text], "diff")]),
    ]  # fmt: skip


TEXTS = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(["@team", "#1", "https://e.x", "www.e.x", "<img src=x>", "`", "|", "```", "![", "](", "<!--",
                         "\n", "\n\n", "\x1b[2J", "\u202e", "</details>", "- ", "1. ", "\\", "a", " "]), max_size=8,
    ).map("".join),
)  # fmt: skip


@given(TEXTS)
def test_no_text_acts_on_the_terminal(text: str) -> None:
    assert all(line.isprintable() for line in printed(every_block(text), Style(width=60)).split("\n"))
    coloured = re.sub(r"\x1b\[[0-9;]*m", "", printed(every_block(text), Style(colour=True)))
    assert all(line.isprintable() for line in coloured.split("\n"))


@given(TEXTS)
def test_no_text_acts_on_a_page(text: str) -> None:
    line = (text, Span(text, "31"), strong(text), text)
    item = Item(line, text, line, [line, text], [line, text])
    blocks = [
        text,
        line,
        Heading(line),
        Wrapped(line, 4),
        item,
        Item(text),
        *section(text, [text]),
        Table([line, line]),
    ]
    assert effects(page([*blocks, Fold(text, blocks)])) == []


@given(TEXTS)
def test_no_text_ends_its_code(text: str) -> None:
    """In code, GitHub makes no mentions and addresses of texts, so only HTML, links and images count."""
    found = [effect for effect in effects(page(every_block(text))) if not effect.startswith("text ")]
    assert found == []


@given(st.one_of(TEXTS, st.text("\\|`a")))
def test_no_text_ends_a_row_of_a_table(text: str) -> None:
    rows = [[text, Span(text, markup="`"), Mark(text, 1, 1)], ["a", "b", "c"]]
    for row in page([Table(rows)]).splitlines():
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 4


def test_a_document_on_a_terminal() -> None:
    blocks = [
        Heading("Two pools"),
        Table([["pool", "nodes"], [Span("日本", "31"), "4"], ["a", "16"]]),
        *section("Problems", [Item("not healthy", "late", MARK, ["accepted"], ["one", "two"]), "a sentence"]),
        Fold("3 objects", [Code(["+ a"])]),
    ]
    assert printed(blocks) == (
        "Two pools\npool  nodes\n日本  4\na     16\n\nProblems\n  late  not healthy\n        specs/a.yaml:3:5\n"
        "        accepted\n        one\n        two\n  - a sentence\n3 objects\n  + a\n"
    )
    assert "\x1b[31m日本\x1b[0m  4" in printed(blocks, Style(colour=True))
    assert "\x1b[1mTwo pools\x1b[0m" in printed(blocks, Style(colour=True))


def test_the_same_document_on_a_page() -> None:
    blocks = [
        Heading("Two pools"),
        Table([["pool", "nodes"], ["a|b", "1.5"]]),
        *section("Problems", [Item("not healthy", "late", MARK, ["accepted"], ["one", "two"]), "a sentence"]),
        Fold("3 objects", [Code(["+ a"], "diff")]),
    ]
    assert page(blocks) == (
        "## Two pools\n\n| pool | nodes |\n| --- | --- |\n| a\\|b | 1.5 |\n\n### Problems\n\n"
        "- not healthy (`specs/a.yaml:3`, late)\n  - accepted\n"
        "  - <details><summary>details</summary>\n\n    - one\n    - two\n\n    </details>\n- a sentence\n\n"
        "<details><summary>3 objects</summary>\n\n```diff\n+ a\n```\n</details>\n"
    )


def test_long_lines_and_cells() -> None:
    shown = printed(
        [Item("a b c d e f", "X", notes=["g h i j k l"], lead=""), Wrapped(("at ", "a b\nc d"), 4)], Style(width=9)
    )
    assert shown == "X  a b c\n   d e f\n   g h i\n     j k\n     l\nat a b\n    c d\n"
    assert printed([Table([["abcdefgh", "i"]], longest=6)]) == "abc...  i\n"


def test_data_has_versions_positions_and_plain_values() -> None:
    assert json.loads(json_text({"severity": Severity.ERROR, **position(MARK)}, 2)) == {
        "version": 2, "gpuc": __version__, "severity": "error", "file": "specs/a.yaml", "line": 3, "column": 5,
    }  # fmt: skip
    assert position(None, "a.yaml") == {"file": "a.yaml", "line": None, "column": None}
    assert picked(MARK, "file line") == {"file": "specs/a.yaml", "line": 3}
    with pytest.raises(TypeError, match="JSON has no form"):
        json_text({"mark": object()}, 1)
