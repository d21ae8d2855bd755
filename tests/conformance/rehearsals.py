"""The rehearsal of an example cluster, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.outcome import Check
from tests.conftest import ROOT


def rehearse(name: str, crds: Path | None, folder: Path) -> Iterator[Check]:
    """Runs `gpuc rehearse`; prints what it does not test."""
    report = folder / f"{name}.json"
    options = ["--crds", str(crds)] if crds else []
    command = [sys.executable, "-m", "gpuc.cli.main", "rehearse", name, *options, "--output", f"json={report}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not report.exists():
        yield Check(f"rehearsal of {name}", (done.stderr or done.stdout).strip())
        return
    (result,) = json.loads(report.read_text(encoding="utf-8"))["clusters"]
    for sentence in result["not_tested"]:
        print(f"not tested in {name}: {sentence}", flush=True)
    counts, taken = result["counts"], sum(result["seconds"].values())
    steps = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in result["seconds"].items())
    note = (
        f"{counts['distinct']} distinct test cases, {counts['refusals']} refusals, {result['objects']} objects, "
        f"{taken:.0f} s ({steps}), {result['memory_mib']} MiB"
    )
    yield Check(f"rehearsal of {name}", _problems(result), note)


def _problems(result: dict[str, Any]) -> str:
    lines = [f"{_place(each)} {each['kind']} {each['object']}: {each['message']}" for each in result["problems"]]
    lines += [
        f"{_place(each)} {each['suite']}/{each['name']}: not {_text(each['expected'])} but {_text(each['actual'])}"
        for each in result["cases"]
        if not each["passed"]
    ]
    return "\n".join(lines)


def _place(each: dict[str, Any]) -> str:
    return f"{each['file']}:{each['line']}"


def _text(outcome: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in outcome.items() if value)
