"""Runs Argo CD with every example cluster, and writes benchmarks/argocd.md.

The last run uses one Argo CD, in a separate cluster, for two clusters ("a hub"). `make conformance-all` runs this
module. The report lists the tests that could not run, with the reason.
"""

import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuc_rehearsal.programs import MissingProgramsError, find_argo_programs, find_programs
from tests.conformance.check_result import markdown_table
from tests.conftest import EXAMPLES, ROOT, root_of

RECORD = ROOT / "benchmarks" / "argocd.md"
CHARTS = "GPUC_CHARTS"
"""The environment variable with a folder of charts, as `helm pull` writes them."""
EXPLANATION = Path(__file__).with_name("argocd_head.md")
"""The lines that explain the tables of the report."""
RUNS = (*EXAMPLES, "custom-euc1", "hub")
"""The clusters, and the run with a hub. custom-euc1 also has a chart of its own, which $GPUC_CHARTS may have."""
_EDIT_HEADINGS = ("edit", "change", "object", "s", "waits and notes")
HUB = ("infer-euw1", "prod-use1")
"""Two clusters for one Argo CD. The third example cluster has too many nodes for a small machine."""


@dataclass(frozen=True)
class Run:
    """A run of `gpuc rehearse --argocd` with edits, and its results."""

    title: str
    results: tuple[dict[str, Any], ...] = ()
    report: str = ""
    """The results in Markdown."""
    edits: Mapping[str, Any] = field(default_factory=dict)
    """The results of the edits by cluster: the numbers of edits and late edits, and the rows of the report."""
    problem: str = ""
    """Why there is no report. Empty if there is a report."""

    @property
    def is_good(self) -> bool:
        return not self.problem and all(result["good"] for result in self.results)


@dataclass
class Record:
    """The content of the report."""

    runs: list[Run] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return all(run.is_good for run in self.runs)


def main(arguments: Sequence[str]) -> int:
    """Runs Argo CD and writes the report. Returns 1 if a run failed, else 0.

    A run for which a program is missing is not a failure. arguments are names of runs (clusters or hub; all runs if
    empty).
    """
    record = Record()
    if problem := _missing():
        record.not_run.append(f"Argo CD with {', '.join(RUNS)}: {problem}")
    else:
        for run in _runs(arguments or RUNS):
            record.runs.append(run)
            print(f"{'passed' if run.is_good else 'FAILED'}  {run.title}", flush=True)
            RECORD.write_text(markdown(record), encoding="utf-8")
    for reason in record.not_run:
        print(f"not run: {reason}", flush=True)
    if record.runs:  # if nothing could run, the report of an earlier run is kept
        print(f"the report is in {RECORD.relative_to(ROOT)}", flush=True)
    return int(not record.is_good)


def _missing() -> str:
    """Returns which programs are missing, or an empty string."""
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
            yield _rehearse(name, root_of(name), [name])


def _rehearse(title: str, root: Path, names: Sequence[str], problem: str = "") -> Run:
    if problem:
        return Run(title, problem=problem)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        page = Path(folder) / "report.md"
        edits = Path(folder) / "edits.json"
        options = ["--argocd", "--output", f"json={report}", "--output", f"markdown={page}"]
        options += ["--charts", os.environ[CHARTS]] if os.environ.get(CHARTS) else []
        if shared := os.environ.get("GPUC_SHARED"):
            options += ["--crds", str(Path(shared) / "upstream" / "crds")]
        command = [sys.executable, "-m", "tests.conformance.argocd_edits", str(edits), *names, *options]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=_environment())
        if not report.exists() or not (text := report.read_text(encoding="utf-8")):
            return Run(title, problem=(done.stderr or done.stdout).strip())
        rows = json.loads(edits.read_text(encoding="utf-8")) if edits.exists() else {}
        return Run(title, tuple(json.loads(text)["argocd"]), page.read_text(encoding="utf-8"), rows)


def hub_fleet(root: Path) -> str:
    """Copies the example fleet to a folder and sets the destinations of two clusters to one Argo CD.

    One destination has a server, the other destination has a name. Returns the compiler's errors or an empty string.
    """
    for name in ("specs", "out", "clusters"):
        shutil.copytree(ROOT / name, root / name)
    destinations = (
        f"{{server: https://{HUB[0]}.example.com, namespace: argocd}}",
        f"{{name: {HUB[1]}, namespace: argocd}}",
    )
    for name, destination in zip(HUB, destinations, strict=True):
        file = root / "specs" / f"{name}.yaml"
        lines = f"  delivery:\n    destination: {destination}\n"
        if "name:" in destination:  # a layer sets the server; only one of the two is allowed
            lines = f"  delivery:\n    destination: {{server: null, {destination[1:]}\n"
        file.write_text(file.read_text(encoding="utf-8").replace("\nspec:\n", f"\nspec:\n{lines}"), encoding="utf-8")
    command = [sys.executable, "-m", "gpuc.cli.main", "compile", *HUB]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=_environment())
    return done.stdout if done.returncode else ""


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": ":".join(map(str, (ROOT / "compiler", ROOT / "rehearsal", ROOT)))}


def markdown(record: Record) -> str:
    """Returns the report: versions, results of the runs, and edits with durations."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    lines = [f"# Argo CD with the example clusters, {day}", ""]
    lines += [
        "`make conformance-all` writes this report. The charts that `gpuc tools --argocd` does not package are in the "
        f"folder ${CHARTS}.",
        "",
        *EXPLANATION.read_text(encoding="utf-8").splitlines(),
    ]
    lines += [f"- {line}" for line in _versions()]
    lines += [f"- not run: {reason}" for reason in record.not_run]
    rows = [row for run in record.runs for row in _summary(run)]
    lines += [
        "",
        *markdown_table(
            ("run", "cluster", "Applications", "Synced and Healthy", "first sync s", "edits", "late", "failures"), rows
        ),
    ]
    for run in record.runs:
        lines += ["", f"# {run.title}", "", *([f"```text\n{run.problem}\n```"] if run.problem else [run.report])]
        for cluster, results in run.edits.items():
            lines += ["", f"## Edits of {cluster}", "", *markdown_table(_EDIT_HEADINGS, results["rows"])]
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
        counts = {"edits": 0, "late": 0} | result["counts"] | run.edits.get(result["cluster"], {})
        yield (
            run.title, result["cluster"], str(counts["applications"]), str(counts["good"]),
            _seconds(result["first_sync_s"]), str(counts["edits"]), str(counts["late"]), str(counts["failures"]),
        )  # fmt: skip
    if run.problem:
        yield run.title, "not run", "", "", "", "", "", ""


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
