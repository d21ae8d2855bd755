"""The text report, compared with its complete expected text."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Related, Severity
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.report.terminal import Style, clipped, column_width, visible, wrapped

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
        "specs/base/eks.yaml:7:3  warning YML007  2026.08 is read as a number\n"
        "  7 |  releases: 2026.08\n"
        "    |   ^\n"
        "    affects: clusters dev, prod\n"
        "\n"
        "specs/prod.yaml:3:13  error KUE004  33 nodes promised, at most 32 can exist\n"
        "  3 |     nodes: {max: 33}\n"
        "    |             ^\n"
        "    fix: max: 32\n"
        "\n"
        "dev: spec.pools.a  info CAT001  capacity is left over\n"
        "\n"
        "2 clusters: 1 error, 1 warning, 1 info\n"
        "`gpuc explain KUE004` explains the first error\n"
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
    coloured = render("text", result, Style(colour=True))
    assert "\x1b[1;31merror\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render("text", result)


def test_lines_of_a_message_and_a_fix_stay_indented() -> None:
    finding = replace(OVER, message="one\ntwo", fix="a: 1\nb: 2")
    shown = render("text", report(finding)).splitlines()
    assert shown[:2] == ["specs/prod.yaml:3:13  error KUE004  one", "    two"]
    assert shown[4:6] == ["    fix: a: 1", "         b: 2"]


@given(st.text(alphabet=st.characters(exclude_characters="\n\r"), max_size=400), st.integers(1, 450))
def test_a_clipped_line_keeps_the_character_at_the_column(line: str, column: int) -> None:
    part, at = clipped(line, column)
    assert len(part) <= 166
    assert part[at - 1 : at] == line[column - 1 : column] or column > len(line)


def test_the_caret_counts_columns_of_the_terminal() -> None:
    assert column_width("naïve") == 5
    assert column_width("日本") == 4
    assert column_width("\t\x1b") == len(" \\x1b") == len(visible("\t\x1b"))


QUEUE, OWN_LINE = Mark("specs/prod.yaml", 41, 20), replace(SPEC, column=5)
SUM = replace(
    OVER,
    related=(
        Related("quota of queue research: 30 nodes", mark=QUEUE),
        Related("at most 32 nodes", mark=LAYER),
        Related("on the line of the finding", mark=OWN_LINE),
    ),
)


def test_related_places_are_in_columns_with_their_source_lines() -> None:
    result = replace(report(SUM), lines={**SOURCE, QUEUE: "    quota: {train: {nodes: 30}}"}.get)
    assert render("text", result).splitlines()[3:6] == [
        "    see: specs/prod.yaml:41:20    quota of queue research: 30 nodes  | quota: {train: {nodes: 30}}",
        "         specs/base/eks.yaml:7:3  at most 32 nodes                   | releases: 2026.08",
        "    fix: max: 32",
    ]


def test_a_finding_with_many_related_places_stays_short() -> None:
    many = tuple(Related(f"queue {number}", mark=replace(QUEUE, line=100 + number)) for number in range(10))
    shown = render("text", report(replace(OVER, related=many))).splitlines()
    assert shown[3] == "    see: specs/prod.yaml:100:20  queue 0"
    assert shown[10:12] == ["         specs/prod.yaml:107:20  queue 7", "         and 2 other places"]


def test_long_lines_are_broken_at_the_width_of_the_terminal() -> None:
    finding = replace(
        SUM, message="the sum of the quotas is 33 nodes; expected at most 32, the capacity", fix=("a " * 40).strip()
    )
    shown = render("text", report(finding), Style(width=60)).splitlines()
    assert shown == [
        "specs/prod.yaml:3:13  error KUE004  the sum of the quotas is",
        "    33 nodes; expected at most 32, the capacity",
        "  3 |     nodes: {max: 33}",
        "    |             ^",
        "    see: specs/prod.yaml:41:20    quota of queue research:",
        "                                  30 nodes",
        "         specs/base/eks.yaml:7:3  at most 32 nodes",
        "    fix: a a a a a a a a a a a a a a a a a a a a a a a a a a",
        "         a a a a a a a a a a a a a a",
        "",
        "0 clusters: 1 error",
        "`gpuc explain KUE004` explains the first error",
    ]


@given(st.text(alphabet="ab 日", max_size=200), st.integers(40, 120), st.integers(0, 50))
def test_breaking_a_line_keeps_its_words(text: str, width: int, first: int) -> None:
    lines = wrapped(text, width, first=first, indent=4).split("\n")
    assert " ".join([lines[0], *(line[4:] for line in lines[1:])]) == text
    assert all(column_width(line) <= width or " " not in line[4:] for line in lines[1:])
