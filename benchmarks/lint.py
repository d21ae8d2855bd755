"""Measures gpuc lint and kubeconform for the same ten thousand objects.

`python -m benchmarks.lint --date 2026-11-21 --report benchmarks/lint.md`; kubeconform is taken from GPUC_TOOLS or PATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.fleets import copy_fleet, multiply
from benchmarks.machine import BusyError, Quiet, described
from benchmarks.objects import emit_objects
from benchmarks.peers import program, validation
from benchmarks.process import Contestant, RunFailed
from benchmarks.report import rows
from benchmarks.rounds import measure

REPOSITORY = Path(__file__).parent.parent
CLUSTER = "prod-use1"
CLUSTERS = 58
ROUNDS = 5
SECONDS_MAX, MEMORY_MAX_MIB = 5, 500
"""Limits for ten thousand objects."""
LINT, KUBECONFORM = "gpuc lint", "kubeconform"


def main() -> int:
    """Returns 1 if a measurement failed; missed limits do not change the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lint", description=__doc__)
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to FILE (default: print it)")
    parser.add_argument("--date", default="", help="date in the title of the report")
    parser.add_argument("--load", type=float, default=1.25 * (os.cpu_count() or 1), metavar="BOUND")
    options = parser.parse_args()
    quiet = Quiet(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-lint-") as folder:
        try:
            contestants, count = _contestants(Path(folder))
            table = measure(contestants, dict(os.environ), ROUNDS, quiet, lambda text: print(text, file=sys.stderr))
        except (BusyError, RunFailed) as error:
            print(error, file=sys.stderr)
            return 1
    lint = table[LINT]
    peak = lint.peak or 0
    lines = [
        f"# gpuc lint{f' of {options.date}' if options.date else ''}",
        f"{count} objects: {CLUSTERS} copies of the production cluster; every copy is a path of the command. "
        f"Medians of {ROUNDS} alternating rounds.",
        "\n".join(f"- {line}" for line in described(quiet)),
        rows(
            ("", "seconds", "user CPU seconds", "peak MiB", "relative to kubeconform"),
            (
                (
                    name,
                    f"{figures.wall / 1e3:.2f}",
                    f"{figures.user / 1e3:.2f}",
                    f"{figures.peak or 0:.0f}",
                    f"{figures.ratio(table[KUBECONFORM]):.2f}" if KUBECONFORM in table else "-",
                )
                for name, figures in table.items()
            ),
        ),
        f"At most {SECONDS_MAX} s and {MEMORY_MAX_MIB} MiB for ten thousand objects: "
        + ("met" if lint.wall / 1e3 <= SECONDS_MAX and peak <= MEMORY_MAX_MIB else "**not met**"),
    ]
    text = "\n\n".join(lines) + "\n"
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _contestants(work: Path) -> tuple[list[Contestant], int]:
    fleet = copy_fleet(REPOSITORY, work / "fleet")
    spec = fleet / "specs" / f"{CLUSTER}.yaml"
    objects = emit_objects(fleet, f"specs/{CLUSTER}.yaml")
    multiply(spec, CLUSTERS)
    gpuc = str(Path(sys.executable).with_name("gpuc"))
    subprocess.run((gpuc, "compile", "--into", str(work)), cwd=fleet, check=True, capture_output=True)
    for file in (work / "out").rglob("values.yaml"):
        file.unlink()
    shutil.rmtree(work / "clusters")
    paths = sorted(str(path) for path in (work / "out").iterdir())
    contestants = [Contestant(LINT, "schemas and checks", (gpuc, "lint", *paths), work)]
    if path := program("kubeconform"):
        command = validation(path, objects, work)
        contestants.append(Contestant(KUBECONFORM, "schemas", ("/bin/sh", "-c", f"{command} out"), work))
    return contestants, len(objects.all) * len(paths)


if __name__ == "__main__":
    sys.exit(main())
