"""Specs with one deleted quotation mark, bracket or colon: the first finding is at the damage."""

import pathlib
import random
import re
import time

import pytest
import yaml

from gpuc.source.document import compose
from tests.lanes import SHARE, some
from tests.source.parsers import differences

ROOT = pathlib.Path(__file__).parents[2]
SPECS = sorted(path.name for path in (ROOT / "specs").glob("*.yaml"))


def signs(text: str, pattern: str) -> list[int]:
    """Returns the offsets of all signs of a text outside of comments."""
    offsets = [match.start() for match in re.finditer(pattern, text)]
    return [offset for offset in offsets if "#" not in text[text.rfind("\n", 0, offset) + 1 : offset]]


def line_of_damage(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def line_of_first_finding(text: str, offset: int) -> int:
    """Returns the line of the first finding after the sign at the offset is deleted; 0 if there is no finding."""
    _, findings = compose(text[:offset] + text[offset + 1 :], "f.yaml")
    assert all(finding.mark and finding.is_error for finding in findings)
    return findings[0].mark.line if findings and findings[0].mark else 0


@pytest.mark.share(3)
@pytest.mark.parametrize("name", SPECS)
def test_a_deleted_quotation_mark_or_bracket_is_found_in_its_line(name: str) -> None:
    text = (ROOT / "specs" / name).read_text()
    for offset in random.Random(name).sample(signs(text, r"[\"'\[\]{}]"), 60):
        assert line_of_first_finding(text, offset) == line_of_damage(text, offset), text[offset - 30 : offset + 10]


@pytest.mark.share(3)
@pytest.mark.parametrize("name", SPECS)
def test_a_deleted_colon_at_the_start_of_a_line_is_found_in_its_line_or_changes_a_value(name: str) -> None:
    text = (ROOT / "specs" / name).read_text()
    offsets = [match.end() - 1 for match in re.finditer(r"^ *[\w-]+:(?= )", text, re.MULTILINE)]
    for offset in random.Random(name).sample(offsets, 30):
        assert line_of_first_finding(text, offset) in (0, line_of_damage(text, offset)), text[offset - 30 : offset + 10]


def test_damage_in_a_value_of_several_lines_is_found_in_its_statement() -> None:
    """The text has lists, maps and quoted texts of several lines. A sign inside a quoted text is no damage."""
    data = yaml.safe_load((ROOT / "specs/prod-use1.yaml").read_text())
    data["spec"]["note"] = "it's a note: with [brackets] and {braces} that is longer than one line " * 3
    text = yaml.dump(data, sort_keys=False, width=60, default_flow_style=None)
    lines = text.split("\n")
    offsets = signs(text, r"[\"'\[\]{}]")
    assert len(offsets) > 200
    for offset in some(offsets, SHARE):
        damage = line_of_damage(text, offset)
        start = next(line for line in range(damage, 0, -1) if re.match(r" *(- +)*[\w./-]+:( |$)", lines[line - 1]))
        found = line_of_first_finding(text, offset)
        assert not found or start <= found <= damage, lines[damage - 1]


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "text",
    [
        "a: [" + '"b",' * 15_000, "a: " + "[" * 45, ("a: 'b\n" * 60_000), "<<<<<<< HEAD\n" * 20_000,
        "- " * 30_000 + "a: b: c", "a: " + "{b: " * 40 + " " * 60_000 + "]", "\u00a0\n" * 100_000 + "a: b: c",
        "a\n" * 100_000 + "b: c: d",
    ],
)  # fmt: skip
def test_the_time_to_explain_a_large_text_is_limited(text: str) -> None:
    start = time.process_time()
    _, findings = compose(text, "f.yaml")
    assert findings
    assert time.process_time() - start < 20


def test_both_parsers_agree_about_mutated_specs() -> None:
    assert differences(100, seed=7) == []
