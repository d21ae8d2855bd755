"""Measures gpuc lint and kubeconform for the same ten thousand objects.

Usage: `python -m benchmarks.lint --date 2026-11-21 --report benchmarks/lint.md`. kubeconform must be in the folder
GPUC_TOOLS or on PATH.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.fleets import copy_fleet, multiply
from benchmarks.machine import BusyError, LoadLimit, describe_machine
from benchmarks.objects import emit_objects
from benchmarks.other_tools import find_program, validation
from benchmarks.process import Program, RunFailed
from benchmarks.report import rows, target_rows
from benchmarks.rounds import measure
from benchmarks.targets import Target

REPOSITORY = Path(__file__).parent.parent
CLUSTER = "prod-use1"
CLUSTERS = 58
RATIO_MAX, MEMORY_MAX_MIB = 2.0, 500
"""Limits for ten thousand objects: the time relative to kubeconform, and the memory."""
LINT, KUBECONFORM = "gpuc lint", "kubeconform"


def main() -> int:
    """Runs the benchmark and returns the exit code: 1 if a measurement failed. Missed limits are no failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lint", description=__doc__)
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to FILE (default: print it)")
    parser.add_argument("--date", default="", help="date in the title of the report")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="number of timed rounds (default: 5)")
    parser.add_argument("--load", type=float, default=1.25 * (os.cpu_count() or 1), metavar="LIMIT")
    options = parser.parse_args()
    load_limit = LoadLimit(options.load)
    with tempfile.TemporaryDirectory(prefix="gpuc-lint-") as folder:
        try:
            programs, count = _prepare_programs(Path(folder))
            table = measure(
                programs, dict(os.environ), options.rounds, load_limit, lambda text: print(text, file=sys.stderr)
            )
        except (BusyError, RunFailed) as error:
            print(error, file=sys.stderr)
            return 1
    lint = table[LINT]
    ratio = lint.ratio(table[KUBECONFORM]) if KUBECONFORM in table else None
    limits = [
        Target(f"{LINT}, relative to {KUBECONFORM}", RATIO_MAX, "x", ratio),
        Target(f"{LINT}: peak memory", MEMORY_MAX_MIB, "MiB", lint.peak),
    ]
    lines = [
        f"# gpuc lint{f' of {options.date}' if options.date else ''}",
        f"{count} objects: {CLUSTERS} copies of prod-use1, and each copy is a path on the command line. The values are "
        f"medians of {options.rounds} rounds, and both programs run once in each round.",
        "\n".join(f"- {line}" for line in describe_machine(load_limit)),
        rows(
            ("program", "wall seconds", "user CPU seconds", "peak MiB", "wall time relative to kubeconform"),
            (
                (
                    name,
                    f"{measurements.wall / 1e3:.2f}",
                    f"{measurements.user / 1e3:.2f}",
                    f"{measurements.peak or 0:.0f}",
                    f"{measurements.ratio(table[KUBECONFORM]):.2f}" if KUBECONFORM in table else "-",
                )
                for name, measurements in table.items()
            ),
        ),
        target_rows({"measured": limits}),
    ]
    text = "\n\n".join(lines) + "\n"
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _prepare_programs(work: Path) -> tuple[list[Program], int]:
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
    programs = [Program(LINT, "schemas and checks", (gpuc, "lint", *paths), work)]
    if path := find_program("kubeconform"):
        command = validation(path, objects, work)
        programs.append(Program(KUBECONFORM, "schemas", ("/bin/sh", "-c", f"{command} out"), work))
    return programs, len(objects.all) * len(paths)


if __name__ == "__main__":
    sys.exit(main())
