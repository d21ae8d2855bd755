"""Runs `gpuc rehearse` for an example cluster, as a user does."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.check_result import CheckResult
from tests.conftest import root_of


def rehearse(name: str, crds: Path | None, folder: Path, patterns: Sequence[str]) -> Iterator[CheckResult]:
    """Runs `gpuc rehearse`, and prints what the rehearsal does not test.

    Args:
        crds: folder of upstream's CRDs; None if the reference data is missing.
        folder: for the report.
        patterns: of the test cases; empty for all of them.
    """
    report = folder / f"{name}.json"
    options = ["--crds", str(crds)] if crds else []
    options += [f"--case={pattern}" for pattern in patterns]
    command = [sys.executable, "-m", "gpuc.cli.main", "rehearse", name, *options, "--output", f"json={report}"]
    done = subprocess.run(command, cwd=root_of(name), capture_output=True, text=True, check=False)
    title = f"gpuc rehearse {name} passes"
    if not report.exists():
        yield CheckResult(title, (done.stderr or done.stdout).strip())
        return
    (result,) = json.loads(report.read_text(encoding="utf-8"))["clusters"]
    for sentence in result["not_tested"]:
        print(f"the rehearsal of {name} does not test: {sentence}", flush=True)
    counts, taken = result["counts"], sum(result["seconds"].values())
    steps = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in result["seconds"].items())
    note = (
        f"{counts['distinct']} distinct test cases, {counts['refusals']} refusals, {result['objects']} objects, "
        f"{taken:.0f} s ({steps}), {result['memory_mib']} MiB"
    )
    yield CheckResult(title, _problems(result), note)


def _problems(result: dict[str, Any]) -> str:
    lines = [
        f"{_location(problem)} {problem['kind']} {problem['object']}: {problem['message']}"
        for problem in result["problems"]
    ]
    lines += [
        f"{_location(case)} {case['suite']}/{case['name']}: "
        f"expected {_text(case['expected'])}; actual {_text(case['actual'])}"
        for case in result["cases"]
        if not case["passed"]
    ]
    return "\n".join(lines)


def _location(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']}"


def _text(outcome: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in outcome.items() if value)
