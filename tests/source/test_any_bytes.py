"""For any bytes, reading a spec either succeeds or reports findings with a file, line and column."""

import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpuc.diagnostics.finding import StageError
from gpuc.documents.composer import events
from gpuc.source import read
from gpuc.source.document import compose
from tests.lanes import drawn

ROOT = pathlib.Path(__file__).parents[2]
REFERENCE = (ROOT / "specs/prod-use1.yaml").read_bytes()
PIECES = [
    "a", "b: ", ": ", "- ", "? ", "\n", "\n  ", "\n    ", "\t", "{", "}", "[", "]", ", ", '"', "'", "|\n", ">-\n",
    "&a ", "*a", "!!str ", "!x ", "<<: ", "#", "%YAML 1.1\n", "%TAG ! x\n", "---\n", "...\n", "no", "010", "1.30", "~",
    "12:30:00", "\r\n", "2026-01-01", "\u00e9", "\ufeff", "\0", "\\x", "extends: ", "kind: Cluster\n",
    "metadata: {name: a}\n", "a.yaml", "@", "`",
]  # fmt: skip


@pytest.fixture(scope="module")
def root() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "specs/base").mkdir(parents=True)
        (pathlib.Path(folder) / "specs/base/eks.yaml").write_bytes((ROOT / "specs/base/eks.yaml").read_bytes())
        yield pathlib.Path(folder)


def reads_or_reports(root: pathlib.Path, data: bytes) -> bool:
    (root / "specs/a.yaml").write_bytes(data)
    lines = data.count(b"\n") + data.count(b"\r") + 1
    try:
        source = read(root, "specs/a.yaml")
    except StageError as stop:
        marks = [finding.mark for finding in stop.findings]
        return bool(marks) and all(mark and 1 <= mark.line <= max(lines, 30) and mark.column >= 1 for mark in marks)
    return isinstance(source.tree, dict) and set(source.keys) < set(source.marks)


@given(st.binary(max_size=200))
@drawn(300)
def test_random_bytes(root: pathlib.Path, data: bytes) -> None:
    assert reads_or_reports(root, data)


@given(st.lists(st.sampled_from(PIECES), max_size=25))
@drawn(600)
def test_random_yaml(root: pathlib.Path, pieces: list[str]) -> None:
    assert reads_or_reports(root, "".join(pieces).encode())


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029", "\ufeff", "\0", "\x07", "\ud800"])
@pytest.mark.parametrize("place", ["a: x{}y\n", "a: x{}y: z: w\n", "a: [{}\nb: c\n", "{}a: b: c\n", "a: 'b{}\n"])
def test_a_text_with_a_character_that_files_cannot_have_is_composed_or_reported(place: str, character: str) -> None:
    node, findings = compose(place.format(character), "f.yaml")
    assert node or findings
    assert all(finding.mark and finding.mark.line <= 3 for finding in findings)


@given(st.integers(0, len(REFERENCE)), st.integers(0, 30), st.one_of(st.binary(max_size=6), st.sampled_from(PIECES)))
@drawn(60)
def test_a_mutated_reference_spec(root: pathlib.Path, start: int, length: int, new: str | bytes) -> None:
    middle = new if isinstance(new, bytes) else new.encode()
    assert reads_or_reports(root, REFERENCE[:start] + middle + REFERENCE[start + length :])


def test_marks_agree_with_two_other_parsers() -> None:
    text = REFERENCE.decode()

    def positions(found: Iterator[Any]) -> list[tuple[str, int, int, object]]:
        starts = [event for event in found if type(event).__name__ in ("ScalarEvent", "MappingStartEvent")]
        return [(type(e).__name__, e.start_mark.line, e.start_mark.column, getattr(e, "value", None)) for e in starts]

    actual = positions(events(text))
    assert actual == positions(YAML(typ="safe", pure=True).parse(text))
    assert actual == positions(yaml.parse(text, Loader=yaml.SafeLoader))
