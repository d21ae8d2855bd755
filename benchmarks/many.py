"""Measures compiles of a fleet of a thousand clusters, ten groups of which share a layer, after an edit.

Usage: `python -m benchmarks.many --date 2026-11-21 --report benchmarks/many.md`. The first compile of the fleet, which
fills the caches, takes minutes and needs 2 GiB of disk.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fleets import copy_fleet, editing, editing_layer, multiply
from benchmarks.machine import BusyError, LoadLimit, clean_environment, describe_machine
from benchmarks.process import Program, RunFailed, timed
from benchmarks.programs import FLOOR_NAME, command_of, floor
from benchmarks.report import rows, target_rows
from benchmarks.rounds import Table, measure
from benchmarks.targets import Target, milliseconds

REPOSITORY = Path(__file__).parent.parent
CLUSTER = "prod-use1"
NOTHING, ONE, LAYER = "nothing changed", "one edit in one cluster", "one edit in a layer"
ONE_MS, LAYER_MS, ONE_MIB = 2_000, 20_000, 300
"""Limits for a thousand clusters, in milliseconds of the reference machine; a hundred clusters share the layer."""


def main() -> int:
    """Runs the benchmark and returns the exit code: 1 if a measurement failed. Missed targets are no failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    parser.add_argument("--clusters", type=int, default=1000, metavar="N", help="number of clusters (default: 1000)")
    parser.add_argument("--share", type=int, default=100, metavar="N", help="clusters of a layer (default: 100)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="number of timed rounds (default: 5)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to FILE (default: print it)")
    parser.add_argument("--date", default="", help="date in the title of the report")
    parser.add_argument("--load", type=float, default=1.25 * (os.cpu_count() or 1), metavar="LIMIT")
    options = parser.parse_args()
    load_limit = LoadLimit(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-many-") as folder:
        work = Path(folder).resolve()
        environment = clean_environment(work)
        programs = _programs(work, options.clusters, options.share)
        try:
            first = timed(programs[1], environment)
            table = measure(
                programs, environment, options.rounds, load_limit, lambda text: print(text, file=sys.stderr)
            )
        except (BusyError, RunFailed) as error:
            print(error, file=sys.stderr)
            return 1
    text = _report(options, first.wall_ms / 1e3, table, describe_machine(load_limit))
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _programs(work: Path, clusters: int, share: int) -> list[Program]:
    fleet = copy_fleet(REPOSITORY, work / "fleet")
    specs = fleet / "specs"
    multiply(specs / f"{CLUSTER}.yaml", clusters, share)
    edit, edit_layer = editing(specs / f"{CLUSTER}-01.yaml"), editing_layer(specs / "base/group-01.yaml")
    return [
        floor(work),
        command_of(NOTHING, "gpuc compile", fleet, "compile"),
        command_of(ONE, "gpuc compile", fleet, "compile", before=edit),
        command_of(LAYER, "gpuc compile", fleet, "compile", before=edit_layer),
    ]


def _report(options: argparse.Namespace, first_seconds: float, table: Table, machine: Sequence[str]) -> str:
    """Returns the report in Markdown.

    Args:
        first_seconds: the time of the first compile, which fills the caches.
    """
    targets = [
        milliseconds(table, ONE, ONE_MS),
        Target(f"{ONE}: peak memory", ONE_MIB, "MiB", table[ONE].peak),
        milliseconds(table, LAYER, LAYER_MS),
    ]
    parts = [
        f"# A fleet of {options.clusters} clusters{f' on {options.date}' if options.date else ''}",
        f"{options.clusters} copies of {CLUSTER}, and {options.share} copies share a layer. `gpuc compile` compiles "
        f"the whole fleet. The values are medians of {options.rounds} rounds, and each program runs once in each "
        f"round. The first compile, which fills the caches, took {first_seconds:.0f} s.",
        "\n".join(f"- {line}" for line in machine),
        target_rows({"measured": targets}),
        rows(
            ("program", "wall seconds", "user CPU seconds", "peak MiB", f"relative to {FLOOR_NAME}"),
            (
                (
                    name,
                    f"{measured.wall / 1e3:.2f}",
                    f"{measured.user / 1e3:.2f}",
                    f"{measured.peak or 0:.0f}",
                    f"{measured.ratio(table[FLOOR_NAME]):.1f}",
                )
                for name, measured in table.items()
            ),
        ),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
