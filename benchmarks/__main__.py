"""Measures gpuc and comparable tools in rounds, and writes the report."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import BusyError, LoadLimit, describe_machine, node
from benchmarks.objects import differences, read_documents
from benchmarks.process import RunFailed, timed
from benchmarks.programs import Comparison, prepare
from benchmarks.report import render
from benchmarks.rounds import measure

REPOSITORY = Path(__file__).parent.parent


def main() -> int:
    """Runs the benchmark and returns the exit code: 1 if a measurement failed. Missed targets are no failure."""
    options = _options()
    if options.report and not options.date:
        _print("--report needs --date")
        return 2
    load_limit = LoadLimit(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-benchmarks-") as folder:
        work = Path(folder).resolve()
        environment = _environment(work)
        try:
            comparison = prepare(REPOSITORY, options.cluster, work)
            _warm_up(comparison, environment)
            table = measure(
                comparison.programs, environment, 3 if options.quick else options.rounds, load_limit, _print
            )
        except (RunFailed, BusyError) as error:
            _print(str(error))
            return 1
    text = render(comparison, table, describe_machine(load_limit), options.date)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="number of timed rounds (default: 15)")
    parser.add_argument("--quick", action="store_true", help="run only three timed rounds")
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


def _environment(work: Path) -> dict[str, str]:
    """Returns the environment variables of all programs: with empty caches, without the user's proxies and flags."""
    home, temporary = work / "home", work / "tmp"
    home.mkdir()
    temporary.mkdir()
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "JSII_NODE": node(),
    }


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
