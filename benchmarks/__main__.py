"""Measures gpuc and comparable tools in rounds, and writes the report."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import BusyError, LoadLimit, busy_processes, clean_environment, describe_machine
from benchmarks.objects import differences, read_documents
from benchmarks.process import RunFailed, timed
from benchmarks.programs import Comparison, prepare
from benchmarks.report import render
from benchmarks.rounds import measure

REPOSITORY = Path(__file__).parent.parent
QUIET = "quiet"


def main() -> int:
    """Runs the benchmark and returns the exit code: 1 if a measurement failed. Missed targets are no failure."""
    options = _options()
    if options.report and not options.date:
        _print("--report needs --date")
        return 2
    load_limit = LoadLimit(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-benchmarks-") as folder:
        work = Path(folder).resolve()
        environment = clean_environment(work)
        try:
            comparison = prepare(REPOSITORY, options.cluster, work)
            _warm_up(comparison, environment)
            rounds = 3 if options.quick else options.rounds
            tables = {QUIET: measure(comparison.programs, environment, rounds, load_limit, _print)}
            if options.busy:
                with busy_processes(options.busy):
                    loaded = LoadLimit(options.load + options.busy)
                    busy = measure(comparison.programs, environment, rounds, loaded, _print)
                tables[f"with {options.busy} busy processes"] = busy
        except (RunFailed, BusyError) as error:
            _print(str(error))
            return 1
    text = render(comparison, tables, describe_machine(load_limit), options.date)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="number of timed rounds (default: 15)")
    parser.add_argument("--quick", action="store_true", help="run only three timed rounds")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="measure again beside N busy processes")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to FILE (default: print it)")
    parser.add_argument("--date", default="", help="date in the title of the report")
    parser.add_argument("--cluster", default="prod-use1", metavar="NAME", help="name of the measured spec")
    parser.add_argument(
        "--load",
        type=float,
        default=1.25 * (os.cpu_count() or 1),
        metavar="LIMIT",
        help="wait while the load average is higher than LIMIT (default: %(default)s)",
    )
    return parser.parse_args()


def _warm_up(comparison: Comparison, environment: dict[str, str]) -> None:
    """Runs each program once to fill the caches, and compares the printed objects with the objects of gpuc.

    Raises:
        RunFailed: when a program fails, or prints other objects than gpuc.
    """
    for program in comparison.programs:
        _print(f"warm-up of {program.name}")
        timed(program, environment)
        if program.name not in comparison.printed:
            continue
        actual = [
            document
            for path in comparison.printed[program.name]
            for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])
            for document in read_documents(file.read_text(encoding="utf-8"))
        ]
        if differing := differences(comparison.objects.all, actual):
            raise RunFailed(f"{program.name} prints other objects: {', '.join(differing[:5])}")


def _print(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
