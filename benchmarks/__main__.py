"""Measures gpuc and comparable tools in alternating rounds, and writes the report."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.contestants import Field, gather
from benchmarks.machine import BusyError, Quiet, described, node
from benchmarks.objects import differences, read_documents
from benchmarks.process import RunFailed, timed
from benchmarks.report import render
from benchmarks.rounds import measure

REPOSITORY = Path(__file__).parent.parent


def main() -> int:
    """Returns 1 if a measurement failed; missed targets do not change the exit code."""
    options = _options()
    if options.report and not options.date:
        _print("--report needs --date")
        return 2
    quiet = Quiet(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-benchmarks-") as folder:
        work = Path(folder).resolve()
        environment = _environment(work)
        try:
            field = gather(REPOSITORY, options.cluster, work)
            _warm_up(field, environment)
            table = measure(field.contestants, environment, 3 if options.quick else options.rounds, quiet, _print)
        except (RunFailed, BusyError) as error:
            _print(str(error))
            return 1
    text = render(field, table, described(quiet), options.date)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="number of timed rounds (default: 15)")
    parser.add_argument("--quick", action="store_true", help="time three rounds only")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to FILE (default: print it)")
    parser.add_argument("--date", default="", help="date in the title of the report")
    parser.add_argument("--cluster", default="prod-use1", metavar="NAME", help="name of the measured spec")
    parser.add_argument(
        "--load",
        type=float,
        default=1.25 * (os.cpu_count() or 1),
        metavar="BOUND",
        help="wait while the load average is above BOUND (default: %(default)s)",
    )
    return parser.parse_args()


def _environment(work: Path) -> dict[str, str]:
    """The environment of all contestants: without the user's proxies, certificates and flags, and with empty caches."""
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


def _warm_up(field: Field, environment: dict[str, str]) -> None:
    """Runs every contestant once, which fills the caches, and compares the printed objects with those that gpuc emits.

    Raises:
        RunFailed: when a contestant fails or prints other objects.
    """
    for contestant in field.contestants:
        _print(f"warm-up of {contestant.name}")
        timed(contestant, environment)
        if contestant.name not in field.printed:
            continue
        actual = [
            document
            for path in field.printed[contestant.name]
            for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])
            for document in read_documents(file.read_text(encoding="utf-8"))
        ]
        if differing := differences(field.objects.all, actual):
            raise RunFailed(f"{contestant.name} prints other objects: {', '.join(differing[:5])}")


def _print(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
