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
    """Runs `gpuc rehearse`; prints what it could not judge."""
    report = folder / f"{name}.json"
    options = ["--crds", str(crds)] if crds else []
    command = [sys.executable, "-m", "gpuc.cli.main", "rehearse", name, *options, "--output", f"json={report}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not report.exists():
        yield Check(f"rehearsal of {name}", (done.stderr or done.stdout).strip())
        return
    (result,) = json.loads(report.read_text(encoding="utf-8"))["clusters"]
    for sentence in result["unjudged"]:
        print(f"not judged in {name}: {sentence}", flush=True)
    counts, taken = result["counts"], sum(result["seconds"].values())
    steps = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in result["seconds"].items())
    note = (
        f"{counts['distinct']} distinct scenes, {counts['refusals']} refusals, {result['objects']} objects, "
        f"{taken:.0f} s ({steps}), {result['memory_mib']} MiB"
    )
    yield Check(f"rehearsal of {name}", _problems(result), note)


def _problems(result: dict[str, Any]) -> str:
    lines = [f"{_place(each)} {each['kind']} {each['object']}: {each['words']}" for each in result["troubles"]]
    lines += [
        f"{_place(each)} {each['family']}/{each['name']}: expected {_said(each['expected'])}, saw {_said(each['seen'])}"
        for each in result["scenes"]
        if not each["agrees"]
    ]
    return "\n".join(lines)


def _place(each: dict[str, Any]) -> str:
    return f"{each['file']}:{each['line']}"


def _said(outcome: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in outcome.items() if value)
