"""Measures rehearsals of the example clusters: seconds by step, and the memory of all programs together.

`python -m benchmarks.rehearsal --crds DIR --date 2026-11-21 --report benchmarks/rehearsal.md`
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks.machine import BusyError, Quiet, described
from benchmarks.process import tree_mib
from benchmarks.report import rows

REPOSITORY = Path(__file__).parent.parent
SAMPLE_SECONDS = 0.25
CLUSTERS = ("prod-use1", "infer-euw1", "train-usw2")
SINGLE = ("prod-use1", "smallest/research train-h100 *")
"""A cluster and the one scene of it that is played alone."""
QUIET_LOAD = 1.5
WALL_TARGET_SECONDS, SINGLE_TARGET_SECONDS, MEMORY_TARGET_MIB = 90, 30, 2048
"""What the production cluster, a single scene of it, and all programs together may take, on two cores."""


@dataclass(frozen=True)
class Run:
    """One rehearsal."""

    name: str
    wall_s: float
    peak_mib: float
    result: dict[str, Any]
    """The cluster's part of the JSON report."""

    def row(self) -> tuple[str, ...]:
        """For the table."""
        counts, seconds = self.result["counts"], self.result["seconds"]
        applied = sum(taken for step, taken in seconds.items() if step not in ("start", "scenes"))
        return (
            self.name,
            str(self.result["objects"]),
            str(counts["distinct"]),
            str(counts["refusals"]),
            f"{seconds['start']:.0f}",
            f"{applied:.0f}",
            f"{seconds['scenes']:.0f}",
            f"{self.wall_s:.0f}",
            f"{self.peak_mib:.0f}",
            str(counts["different"] + counts["troubles"]),
        )


def main() -> int:
    """1 when a rehearsal could not be measured; the figures themselves are only reported."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rehearsal", description=__doc__)
    parser.add_argument("--crds", type=Path, metavar="DIR", help="upstream's CustomResourceDefinitions")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report there (default: print it)")
    parser.add_argument("--date", default="", help="the day that the report names")
    options = parser.parse_args()
    quiet = Quiet(QUIET_LOAD)
    runs = []
    try:
        for name, scene in (*((cluster, "") for cluster in CLUSTERS), SINGLE):
            quiet.wait(_say)
            _say(f"rehearsing {name} {scene}")
            runs.append(_rehearsal(name, scene, options.crds))
    except (BusyError, subprocess.CalledProcessError) as error:
        _say(str(error))
        return 1
    text = _render(runs, described(quiet), options.date)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _rehearsal(name: str, scene: str, crds: Path | None) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "gpuc.cli.main", "rehearse", name, "--output", f"json={report}"]
        command += ["--crds", str(crds)] if crds else []
        command += ["--scene", scene] if scene else []
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
    return Run(f"{name}, one scene" if scene else name, wall, peak, result)


def _render(runs: list[Run], machine: list[str], date: str) -> str:
    whole, single = runs[0], runs[-1]
    targets = (
        ("the production cluster, seconds", WALL_TARGET_SECONDS, whole.wall_s),
        ("a single scene of it, seconds", SINGLE_TARGET_SECONDS, single.wall_s),
        ("memory of all programs, MiB", MEMORY_TARGET_MIB, max(run.peak_mib for run in runs)),
    )
    head = ("", "objects", "distinct scenes", "refusals", "start s", "apply s", "scenes s", "wall s", "peak MiB", "bad")
    parts = [
        f"# Rehearsals{f' of {date}' if date else ''}",
        "Whole processes, once each, the programs built before; memory is the sum of resident memory over gpuc and all "
        f"programs, sampled every {SAMPLE_SECONDS} s. Apply: everything twice, read back, nodes of static pools.",
        "\n".join(f"- {line}" for line in machine),
        rows(
            ("", "at most", "measured", ""),
            (
                (name, str(limit), f"{value:.0f}", "met" if value <= limit else "**not met**")
                for name, limit, value in targets
            ),
        ),
        rows(head, (run.row() for run in runs)),
    ]
    return "\n\n".join(parts) + "\n"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
