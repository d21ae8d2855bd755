"""The text report, compared with its complete expected text."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpuc.diagnostics.finding import Finding, Mark, Severity
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.report.terminal import clipped, column_width, visible

SPEC = Mark("specs/prod.yaml", 3, 13)
LAYER = Mark("specs/base/eks.yaml", 7, 3)
SOURCE = {SPEC: "    nodes: {max: 33}", LAYER: "\treleases: 2026.08"}

OVER = Finding(
    "KUE004",
    Severity.ERROR,
    "33 nodes promised, at most 32 can exist",
    ("spec", "pools", "train", "nodes", "max"),
    SPEC,
    fix="max: 32",
    cluster="prod",
)
FLOAT = Finding("YML007", Severity.WARNING, "2026.08 is read as a number", ("spec", "releases"), LAYER)
HOMELESS = Finding("CAT001", Severity.INFO, "capacity is left over", ("spec", "pools", "a"), cluster="dev")


def report(*findings: Finding, **numbers: object) -> Report:
    return Report(findings=findings, lines=SOURCE.get, **numbers)  # type: ignore[arg-type]


def test_findings_are_shown_in_reading_order_with_line_caret_and_fix() -> None:
    shared = (replace(FLOAT, cluster="prod"), replace(FLOAT, cluster="dev"))
    result = report(HOMELESS, OVER, *shared, clusters=("dev", "prod"))
    assert render("text", result) == (
        "specs/base/eks.yaml:7:3  warning YML007  2026.08 is read as a number (in dev, prod)\n"
        "  7 |  releases: 2026.08\n"
        "    |   ^\n"
        "\n"
        "specs/prod.yaml:3:13  error KUE004  33 nodes promised, at most 32 can exist\n"
        "  3 |     nodes: {max: 33}\n"
        "    |             ^\n"
        "    fix: max: 32\n"
        "\n"
        "dev: spec.pools.a  info CAT001  capacity is left over\n"
        "\n"
        "2 clusters: 1 error, 1 warning, 1 info\n"
        "`gpuc explain YML007` explains the first finding\n"
    )


def test_a_clean_run_is_one_line() -> None:
    result = report(clusters=("prod",), written=("out/a",), removed=("out/b", "out/c"), unchanged=140, seconds=0.2345)
    assert render("text", result) == "1 cluster: no findings; 1 file written, 2 removed, 140 unchanged (0.23 s)\n"


def test_a_failure_of_gpuc_is_not_called_no_findings() -> None:
    failed = replace(report(clusters=("prod",)), failures=(OVER,))
    assert render("text", failed).endswith("1 cluster: 1 failure of gpuc\n")


def test_messages_that_differ_at_one_place_are_both_shown() -> None:
    result = report(OVER, replace(OVER, message="another"), replace(OVER, cluster="dev"))
    assert [row.clusters for row in result.rows] == [("dev", "prod"), ("prod",)]


def test_colour_adds_escapes_only() -> None:
    import re

    result = report(OVER, clusters=("prod",))
    coloured = render("text", result, colour=True)
    assert "\x1b[1;31merror\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render("text", result)


def test_lines_of_a_message_and_a_fix_stay_indented() -> None:
    finding = replace(OVER, message="one\ntwo", fix="a: 1\nb: 2")
    shown = render("text", report(finding)).splitlines()
    assert shown[:2] == ["specs/prod.yaml:3:13  error KUE004  one", "    two"]
    assert shown[4:6] == ["    fix: a: 1", "         b: 2"]


@given(st.text())
def test_foreign_text_cannot_act_on_the_terminal(text: str) -> None:
    finding = replace(OVER, message=text, fix=text, mark=Mark(text, 1, 1), cluster=text)
    shown = render("text", Report(findings=(finding,), lines=lambda mark: text))
    assert all(line.isprintable() for line in shown.split("\n"))


@given(st.text(alphabet=st.characters(exclude_characters="\n\r"), max_size=400), st.integers(1, 450))
def test_a_clipped_line_keeps_the_character_at_the_column(line: str, column: int) -> None:
    part, at = clipped(line, column)
    assert len(part) <= 166
    assert part[at - 1 : at] == line[column - 1 : column] or column > len(line)


def test_the_caret_counts_columns_of_the_terminal() -> None:
    assert column_width("naïve") == 5
    assert column_width("日本") == 4
    assert column_width("\t\x1b") == len(" \\x1b") == len(visible("\t\x1b"))
