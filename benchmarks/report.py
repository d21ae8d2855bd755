"""Renders the results of `python -m benchmarks` as a Markdown page."""

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.machine import REFERENCE_FLOOR_MS
from benchmarks.process import Program
from benchmarks.programs import COLD, FLOOR_NAME, Comparison
from benchmarks.rounds import Measurements, Table
from benchmarks.targets import Target, targets


def render(comparison: Comparison, tables: Mapping[str, Table], machine: Sequence[str], date: str) -> str:
    """Returns the complete report in Markdown.

    Args:
        tables: the results by the load of the machine in words; the verdicts are about the first of them.
        machine: lines that describe the machine.
        date: the date of the measurement; may be empty.
    """
    rounds = len(next(iter(tables.values()))[COLD].wall_ms)
    objects = f"{len(comparison.objects.all)} objects in {len(comparison.objects.by_file)} files"
    parts = [
        f"# Benchmark{f' of {date}' if date else ''}",
        f"The measured cluster has {objects}. The values are medians of {rounds} rounds, and each program runs once in "
        "each round. README.md describes the programs and the method.",
        "\n".join(f"- {line}" for line in machine),
        "## Targets",
        "The targets are for a machine with two idle cores. `x` is the ratio of the times of two programs, and `ms` "
        "are milliseconds of the reference machine.",
        target_rows({load: targets(table) for load, table in tables.items()}),
        "## Results",
        "- wall ms: the time from start to exit; the fastest and the slowest run are in parentheses\n"
        "- user CPU ms: the user time of the process and its child processes\n"
        "- peak MiB: the highest resident memory of the process and its child processes\n"
        "- relative to: the ratio of the wall times of two programs\n"
        "- ms on the reference machine: the ratio to the python floor, multiplied by the time of the python floor on "
        "the reference machine",
        *(part for load, table in tables.items() for part in (f"### {load}", _results(comparison.programs, table))),
        *(["## Not measured", "\n".join(f"- {line}" for line in comparison.skipped)] if comparison.skipped else []),
    ]
    return "\n\n".join(parts) + "\n"


def target_rows(found: Mapping[str, Sequence[Target]]) -> str:
    """Returns a table of targets with the values for each load; the first load has the verdict."""
    head = ("program", "target", *found, "result")
    columns = zip(*found.values(), strict=True)
    return rows(
        head, ((row[0].text, row[0].limit, *(target.value for target in row), row[0].verdict) for row in columns)
    )


def _results(programs: Iterable[Program], table: Table) -> str:
    head = (
        "program",
        "wall ms",
        "user CPU ms",
        "peak MiB",
        "relative to gpuc compile, cold",
        "relative to python floor",
        "ms on the reference machine",
        "description",
    )
    return rows(head, (_row(program.name, program.description, table) for program in programs))


def _row(name: str, description: str, table: Table) -> tuple[str, ...]:
    measurements = table[name]
    floors = measurements.ratio(table[FLOOR_NAME])
    return (
        name,
        f"{measurements.wall:.0f} ({_spread(measurements)})",
        f"{measurements.user:.0f}",
        "-" if measurements.peak is None else f"{measurements.peak:.0f}",
        f"{measurements.ratio(table[COLD]):.2f}",
        f"{floors:.2f}",
        f"{floors * REFERENCE_FLOOR_MS:.0f}",
        description,
    )


def _spread(measurements: Measurements) -> str:
    return f"{min(measurements.wall_ms):.0f}-{max(measurements.wall_ms):.0f}"


def rows(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Returns a Markdown table."""
    columns = list(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *lines))
