"""Runs the long conformance tests one after the other, and writes their results into benchmarks/conformance.md.

`make conformance-all` runs this module. Arguments are names of tests (all tests if there are no arguments). In the
report, a test that was not run keeps its last result.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.conftest import ROOT

RECORD = ROOT / "benchmarks" / "conformance.md"
TESTS: Mapping[str, tuple[str, ...]] = {
    "conformance": ("tests.conformance.run", "--long"),
    "trace": ("tests.conformance.compared_workloads",),
    "transitions": ("tests.conformance.transitions",),
    "gang": ("tests.conformance.gang_command",),
    "lws": ("tests.conformance.leader_worker_set",),
    "nodeadm": ("tests.conformance.node_configs",),
    "hashes": ("tests.conformance.karpenter_hashes",),
    "gates": ("tests.conformance.gpu_gates",),
    "alerts": ("tests.conformance.alert_rules",),
    "argocd": ("tests.conformance.argocd",),
}
"""The modules, with their arguments, by the name of the test."""
SUBJECTS = {
    "conformance": "`make conformance` with more random Jobs and with the undetected mutations",
    "trace": "`gpuc trace` for 2,000 random workloads; [trace.md](trace.md) has the answers that differ",
    "transitions": "the impacts that `gpuc plan` predicts for edits of every leaf of the example specs, for 136 edits "
    "that people make and for the pull requests of tests/plan; [transitions.md](transitions.md) has the differences",
    "gang": "the command of a gang template with torchrun on the CPU; a pod starts three minutes late, a node is lost",
    "lws": "LeaderWorkerSets of infer-euw1 with the real Kueue and the real controller of LeaderWorkerSets",
    "nodeadm": "every NodeConfig of the example clusters with the real nodeadm",
    "hashes": "the fields of the example pools that replace nodes, with the real hash functions of Karpenter",
    "gates": "the commands of the GPU gate with the real kubectl and a real API server",
    "alerts": "the alerts of the example clusters with the real promtool",
    "argocd": "the example clusters with the real Argo CD; [argocd.md](argocd.md) has the times",
}
NOT_RUN = "not run: "
"""The start of the last line that a test prints if it cannot run."""


@dataclass(frozen=True)
class Result:
    """The result of a test."""

    name: str
    exit_code: int
    seconds: float
    last_line: str

    @property
    def was_run(self) -> bool:
        return not self.last_line.startswith(NOT_RUN)


def main(names: Sequence[str]) -> int:
    """Runs the tests; returns 1 if one fails. A test that cannot run, because a program is missing, does not fail."""
    results = [_run(name) for name in names or TESTS]
    before = RECORD.read_text(encoding="utf-8") if RECORD.exists() else ""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    if any(result.was_run for result in results):
        RECORD.write_text(markdown(before, results, day), encoding="utf-8")
    for result in results:
        outcome = "FAILED" if result.exit_code else "passed" if result.was_run else "not run"
        print(f"{outcome}  {result.name}: {result.last_line}", flush=True)
    return int(any(result.exit_code for result in results))


def _run(name: str) -> Result:
    """Runs a test and prints its output."""
    start, last = time.monotonic(), ""
    command = [sys.executable, "-m", *TESTS[name]]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    return Result(name, process.returncode, time.monotonic() - start, last)


def markdown(before: str, results: Sequence[Result], day: str) -> str:
    """Returns the report: the rows of the report before, with new rows for the tests that were run."""
    rows = {line.split(" | ")[0].strip("| "): line for line in before.splitlines() if line.startswith("| ")}
    for result in results:
        if result.was_run:
            outcome = "failed" if result.exit_code else "passed"
            text = result.last_line.replace("|", "\\|")
            cells = (result.name, SUBJECTS[result.name], day, outcome, f"{result.seconds / 60:.0f}", text)
            rows[result.name] = f"| {' | '.join(cells)} |"
    lines = [
        "# Long conformance tests",
        "",
        "`make conformance-all` runs these tests and writes this page. A test that cannot run keeps its last row.",
        "",
        "| test | subject | date | result | minutes | last line of the output |",
        "| --- | --- | --- | --- | --- | --- |",
        *(rows[name] for name in TESTS if name in rows),
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
