"""Everything at once: the long conformance lane, then Argo CD over the example clusters and over a hub, into a file.

`make conformance-all` runs it. What this machine cannot run is reported as not run, with the reason.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuc.rehearse.argocd.programs import find_argo_programs
from gpuc.rehearse.programs import MissingProgramsError, find_programs
from tests.conftest import EXAMPLES, ROOT

RECORD = ROOT / "benchmarks" / "argocd.md"
CHARTS = "GPUC_CHARTS"
"""Names a folder of charts, as `helm pull` writes them."""
HUB = ("infer-euw1", "prod-use1")
"""Two clusters for one Argo CD; the third is the largest, and its nodes alone fill a small machine."""
_OWN = "https://kubernetes.default.svc"


@dataclass(frozen=True)
class Run:
    """One call of gpuc, and what it reported."""

    title: str
    results: tuple[dict[str, Any], ...] = ()
    report: str = ""
    """The same in Markdown."""
    problem: str = ""
    """Why there is no report; empty where there is one."""

    @property
    def is_good(self) -> bool:
        return not self.problem and all(result["good"] for result in self.results)


@dataclass
class Record:
    """What goes into the file."""

    conformance: str
    """The last line of the conformance lane, or why it did not run."""
    conformance_failed: bool
    runs: list[Run] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.conformance_failed and all(run.is_good for run in self.runs)


def main(arguments: Sequence[str]) -> int:
    """Runs everything and writes the record; 1 where something failed, 0 also where something could not run."""
    record = Record("left out: --argocd-only", False)
    if "--argocd-only" not in arguments:
        record = _conformance()
    names = [name for name in arguments if not name.startswith("-")]
    if problem := _missing():
        record.not_run.append(f"Argo CD over {', '.join(EXAMPLES)} and a hub: {problem}")
    else:
        for run in _runs(names or [*EXAMPLES, "hub"]):
            record.runs.append(run)
            print(f"{'passed' if run.is_good else 'FAILED'}  {run.title}", flush=True)
            RECORD.write_text(markdown(record), encoding="utf-8")
    for reason in record.not_run:
        print(f"not run: {reason}", flush=True)
    if record.runs:  # the record of an earlier run stays where nothing could run
        print(f"written to {RECORD.relative_to(ROOT)}", flush=True)
    return int(not record.is_good)


def _conformance() -> Record:
    """The lane of `make conformance` and its long parts, line by line as it comes."""
    command = [sys.executable, "-m", "tests.conformance.run", "--long"]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    return Record(last or "no judge could run", process.returncode != 0)


def _missing() -> str:
    try:
        find_programs()
        find_argo_programs()
    except MissingProgramsError as error:
        return str(error)
    return ""


def _runs(names: Sequence[str]) -> Iterator[Run]:
    for name in names:
        if name == "hub":
            with tempfile.TemporaryDirectory() as folder:
                yield _rehearse("a hub", Path(folder), HUB, hub_fleet(Path(folder)))
        else:
            yield _rehearse(name, ROOT, [name])


def _rehearse(title: str, root: Path, names: Sequence[str], problem: str = "") -> Run:
    if problem:
        return Run(title, problem=problem)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        people = Path(folder) / "report.md"
        options = ["--argocd", "--output", f"json={report}", "--output", f"markdown={people}"]
        options += ["--charts", os.environ[CHARTS]] if os.environ.get(CHARTS) else []
        if shared := os.environ.get("GPUC_SHARED"):
            options += ["--crds", str(Path(shared) / "upstream" / "crds")]
        command = [sys.executable, "-m", "gpuc.cli.main", "rehearse", *names, *options]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=_environment())
        if not report.exists() or not (text := report.read_text(encoding="utf-8")):
            return Run(title, problem=(done.stderr or done.stdout).strip())
        return Run(title, tuple(json.loads(text)["argocd"]), people.read_text(encoding="utf-8"))


def hub_fleet(root: Path) -> str:
    """Copies the example fleet and gives two clusters a server and a name in one Argo CD; why it failed, or nothing."""
    for name in ("specs", "out", "clusters"):
        shutil.copytree(ROOT / name, root / name)
    destinations = (
        f"{{server: https://{HUB[0]}.example.com, namespace: argocd}}",
        f"{{name: {HUB[1]}, namespace: argocd}}",
    )
    for name, destination in zip(HUB, destinations, strict=True):
        file = root / "specs" / f"{name}.yaml"
        lines = f"  delivery:\n    destination: {destination}\n"
        if "name:" in destination:  # a layer has the server, and one of the two is enough
            lines = f"  delivery:\n    destination: {{server: null, {destination[1:]}\n"
        file.write_text(file.read_text(encoding="utf-8").replace("\nspec:\n", f"\nspec:\n{lines}"), encoding="utf-8")
    command = [sys.executable, "-m", "gpuc.cli.main", "compile", *HUB]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=_environment())
    return done.stdout if done.returncode else ""


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT / "compiler")}


def markdown(record: Record) -> str:
    """The file: versions, the result of each run, and the edits with their seconds."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    lines = [f"# Argo CD over the example clusters, {day}", ""]
    lines += [f"Written by `make conformance-all`. Charts beside those of the programs come from ${CHARTS}.", ""]
    lines += [f"- {line}" for line in _versions()]
    lines += [f"- `make conformance`: {record.conformance}"]
    lines += [f"- not run: {reason}" for reason in record.not_run]
    rows = [row for run in record.runs for row in _summary(run)]
    lines += [
        "",
        *_table(("run", "cluster", "Applications", "good", "first sync s", "edits", "late", "failures"), rows),
    ]
    for run in record.runs:
        lines += ["", f"# {run.title}", "", *([f"```text\n{run.problem}\n```"] if run.problem else [run.report])]
    return "\n".join([*lines, ""])


def _versions() -> Iterator[str]:
    yield f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    for find in (find_programs, find_argo_programs):
        try:
            file = find().folder / "versions.json"
        except MissingProgramsError:
            continue
        if file.exists():
            yield ", ".join(f"{name} {version}" for name, version in json.loads(file.read_text()).items())


def _summary(run: Run) -> Iterator[tuple[str, ...]]:
    for result in run.results:
        counts = result["counts"]
        yield (
            run.title, result["cluster"], str(counts["applications"]), str(counts["good"]),
            _seconds(result["first_sync_s"]), str(counts["edits"]), str(counts["late"]), str(counts["failures"]),
        )  # fmt: skip
    if run.problem:
        yield run.title, "not run", "", "", "", "", "", ""


def _seconds(taken: float | None) -> str:
    return "-" if taken is None else f"{taken:.1f}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (list(headings), ["---"] * len(headings), *cells)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
