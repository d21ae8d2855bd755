"""Runs the long conformance tests one after the other, and writes their results into benchmarks/conformance.md.

`make conformance-all` runs this module. Arguments are names of tests (all tests if there are no arguments). In the
report, a test that was not run keeps its last result.
"""

import datetime
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.conftest import ROOT
from tests.tables import table

RECORD = ROOT / "benchmarks" / "conformance.md"
TESTS: Mapping[str, Mapping[str, str]] = table(__file__, "long.yaml")
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
    module, *arguments = TESTS[name]["module"].split()
    command = [sys.executable, "-m", f"tests.conformance.{module}", *arguments]
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
            cells = (result.name, TESTS[result.name]["subject"], day, outcome, f"{result.seconds / 60:.0f}", text)
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
