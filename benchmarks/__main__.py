"""Measures gpuc against its peers in one alternating loop, and writes the report."""

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
    """0 when everything was measured, whatever the figures are; 1 when something could not be."""
    options = _options()
    if options.report and not options.date:
        _say("a report that is kept needs --date")
        return 2
    quiet = Quiet(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-benchmarks-") as folder:
        work = Path(folder).resolve()
        environment = _environment(work)
        try:
            field = gather(REPOSITORY, options.cluster, work)
            _rehearse(field, environment)
            table = measure(field.contestants, environment, 3 if options.quick else options.rounds, quiet, _say)
        except (RunFailed, BusyError) as error:
            _say(str(error))
            return 1
    text = render(field, table, described(quiet), options.date)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds to time (default: 15)")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report there (default: print it)")
    parser.add_argument("--date", default="", help="the day that the report names")
    parser.add_argument("--cluster", default="prod-use1", metavar="NAME", help="the spec to measure")
    parser.add_argument(
        "--load",
        type=float,
        default=1.25 * (os.cpu_count() or 1),
        metavar="BOUND",
        help="start no round at a load above it (default: %(default)s)",
    )
    return parser.parse_args()


def _environment(work: Path) -> dict[str, str]:
    """One environment for all: no proxies, certificates or switches of the user, and caches that start empty."""
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


def _rehearse(field: Field, environment: dict[str, str]) -> None:
    """Runs everybody once, which fills the caches, and holds what they print against what gpuc emitted.

    Raises:
        RunFailed: when somebody fails, or prints other objects.
    """
    for contestant in field.contestants:
        _say(f"rehearsing {contestant.name}")
        timed(contestant, environment)
        if contestant.name not in field.printed:
            continue
        seen = [
            document
            for path in field.printed[contestant.name]
            for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])
            for document in read_documents(file.read_text(encoding="utf-8"))
        ]
        if found := differences(field.objects.all, seen):
            raise RunFailed(f"{contestant.name} prints other objects: {', '.join(found[:5])}")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
