"""Measures rehearsals of the example clusters: the seconds of each step, and the memory of all programs.

Usage: `python -m benchmarks.rehearsal --crds DIR --date 2026-11-21 --report benchmarks/rehearsal.md`
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks.machine import BusyError, LoadLimit, describe_machine
from benchmarks.process import tree_mib
from benchmarks.report import rows

REPOSITORY = Path(__file__).parent.parent
SAMPLE_SECONDS = 0.25
CLUSTERS = ("prod-use1", "infer-euw1", "train-usw2")
SINGLE = ("prod-use1", "smallest/research train-h100 *")
"""A cluster, and a pattern that selects one of its test cases."""
MAX_LOAD = 1.5
WALL_TARGET_SECONDS, SINGLE_TARGET_SECONDS, MEMORY_TARGET_MIB = 90, 30, 2048
"""Limits on a machine with two cores: for prod-use1, for one test case of prod-use1, and for the total memory."""


@dataclass(frozen=True)
class Run:
    """A measured rehearsal."""

    name: str
    wall_s: float
    peak_mib: float
    result: dict[str, Any]
    """The result of the cluster in the JSON report of the rehearsal."""

    def row(self) -> tuple[str, ...]:
        """Returns the row of the table."""
        counts, seconds = self.result["counts"], self.result["seconds"]
        applied = sum(duration for step, duration in seconds.items() if step not in ("start", "test cases"))
        return (
            self.name,
            str(self.result["objects"]),
            str(counts["distinct"]),
            str(counts["refusals"]),
            f"{seconds['start']:.0f}",
            f"{applied:.0f}",
            f"{seconds['test cases']:.0f}",
            f"{self.wall_s:.0f}",
            f"{self.peak_mib:.0f}",
            str(counts["different"] + counts["problems"]),
        )


def main() -> int:
    """Runs the benchmark and returns the exit code: 1 if a measurement failed. Missed limits are no failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rehearsal", description=__doc__)
    parser.add_argument(
        "--crds", type=Path, metavar="DIR", help="a folder with the CustomResourceDefinitions of the products"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to FILE (default: print it)")
    parser.add_argument("--date", default="", help="date in the title of the report")
    options = parser.parse_args()
    load_limit = LoadLimit(MAX_LOAD)
    runs = []
    try:
        for name, case in (*((cluster, "") for cluster in CLUSTERS), SINGLE):
            load_limit.wait(_print)
            _print(f"rehearsing {name} {case}")
            runs.append(_rehearsal(name, case, options.crds))
    except (BusyError, subprocess.CalledProcessError) as error:
        _print(str(error))
        return 1
    text = _render(runs, describe_machine(load_limit), options.date)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _rehearsal(name: str, case: str, crds: Path | None) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "gpuc.cli.main", "rehearse", name, "--output", f"json={report}"]
        command += ["--crds", str(crds)] if crds else []
        command += ["--case", case] if case else []
        started, peak = perf_counter(), 0.0
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None:
            peak = max(peak, tree_mib(process.pid))
            sleep(SAMPLE_SECONDS)
        wall = perf_counter() - started
        if not report.exists():
            raise subprocess.CalledProcessError(process.returncode, command)
        (result,) = json.loads(report.read_text(encoding="utf-8"))["clusters"]
    return Run(f"{name}, one test case" if case else name, wall, peak, result)


def _render(runs: list[Run], machine: list[str], date: str) -> str:
    complete, single = runs[0], runs[-1]
    targets = (
        ("prod-use1, seconds", WALL_TARGET_SECONDS, complete.wall_s),
        ("one test case of prod-use1, seconds", SINGLE_TARGET_SECONDS, single.wall_s),
        ("memory of gpuc and all programs, MiB", MEMORY_TARGET_MIB, max(run.peak_mib for run in runs)),
    )
    head = (
        "cluster",
        "objects",
        "distinct",
        "refusals",
        "start s",
        "apply s",
        "test cases s",
        "wall s",
        "peak MiB",
        "bad",
    )
    parts = [
        f"# Rehearsals{f' of {date}' if date else ''}",
        "`gpuc rehearse` starts a control plane on this machine, applies the output of a cluster twice, and runs test "
        "cases. The last table has one row for each run of gpuc. The programs of the control plane were built before.",
        "- objects: the objects in the output\n"
        "- distinct: the distinct test cases\n"
        "- refusals: the test cases in which the control plane must refuse a request\n"
        "- start s: the seconds until the control plane is ready\n"
        "- apply s: the seconds of both applies, of the comparison of the stored objects, and of static node pools\n"
        "- test cases s: the seconds of all test cases\n"
        "- wall s: the seconds from the start of gpuc to its exit\n"
        f"- peak MiB: the resident memory of gpuc and all programs, sampled every {SAMPLE_SECONDS} s\n"
        "- bad: the test cases with another result than expected, and the objects with problems",
        "Machine:",
        "\n".join(f"- {line}" for line in machine),
        rows(
            ("measurement", "limit", "measured", "result"),
            (
                (name, str(limit), f"{value:.0f}", "met" if value <= limit else "**not met**")
                for name, limit, value in targets
            ),
        ),
        rows(head, (run.row() for run in runs)),
    ]
    return "\n\n".join(parts) + "\n"


def _print(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
