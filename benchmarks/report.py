"""Renders the results as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.contestants import COLD, FLOOR_NAME, Field
from benchmarks.machine import REFERENCE_FLOOR_MS
from benchmarks.rounds import Figures, Table
from benchmarks.targets import Target, targets


def render(field: Field, table: Table, machine: Sequence[str], date: str) -> str:
    """The complete report.

    Args:
        machine: lines that describe the machine.
        date: the date of the measurement; may be empty.
    """
    rounds = len(table[COLD].wall_ms)
    objects = f"{len(field.objects.all)} objects in {len(field.objects.by_file)} files"
    parts = [
        f"# Benchmark{f' of {date}' if date else ''}",
        f"{objects}; complete processes, medians of {rounds} alternating rounds. README.md describes the method.",
        "\n".join(f"- {line}" for line in machine),
        "## Targets",
        rows(("", "target", "measured", ""), map(_target, targets(table))),
        "## Results",
        rows(
            (
                "",
                "wall ms",
                "user CPU ms",
                "peak MiB",
                "relative to gpuc compile, cold",
                "relative to python floor",
                "ms on the reference machine",
                "description",
            ),
            (_row(contestant.name, contestant.does, table) for contestant in field.contestants),
        ),
        *(["## Not measured", "\n".join(f"- {line}" for line in field.skipped)] if field.skipped else []),
    ]
    return "\n\n".join(parts) + "\n"


def _target(target: Target) -> tuple[str, ...]:
    return target.text, target.limit, target.value, target.verdict


def _row(name: str, does: str, table: Table) -> tuple[str, ...]:
    figures = table[name]
    floors = figures.ratio(table[FLOOR_NAME])
    return (
        name,
        f"{figures.wall:.0f} ({_spread(figures)})",
        f"{figures.user:.0f}",
        "-" if figures.peak is None else f"{figures.peak:.0f}",
        f"{figures.ratio(table[COLD]):.2f}",
        f"{floors:.2f}",
        f"{floors * REFERENCE_FLOOR_MS:.0f}",
        does,
    )


def _spread(figures: Figures) -> str:
    return f"{min(figures.wall_ms):.0f}-{max(figures.wall_ms):.0f}"


def rows(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    columns = list(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *lines))
