"""`gpuc lint`: files to findings at their lines, and what could not be judged in sentences."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from compiler.finding import Finding, Mark, Severity, fault
from compiler.lint.charts import judge_values
from compiler.lint.files import files_below
from compiler.lint.objects import NO_OBJECT, Reading
from compiler.lint.places import Places
from compiler.manifest import Manifest
from compiler.options import LintOptions
from compiler.report import render
from compiler.report.console import put
from compiler.report.result import Report
from compiler.report.terminal import wants_colour
from compiler.usage import UsageError
from compiler.verify import judge
from compiler.verify.flaw import Flaw, place
from compiler.verify.schema import NOT_CANONICAL, UNKNOWN_KIND, schema_flaws
from compiler.verify.tree import Tree

NOT_TEXT = fault(
    "LNT005", Severity.ERROR, "A file cannot be read.", "It is missing, not UTF-8, or its permissions forbid reading."
)


@dataclass
class Left:
    """What could not be judged, and how often."""

    kinds: Counter[str] = field(default_factory=Counter)
    """apiVersion and kind of objects that no schema is known of."""
    others: Counter[str] = field(default_factory=Counter)
    maps: int = 0
    """Maps that are no objects."""

    def sentences(self, options: LintOptions) -> Iterator[str]:
        """One for each."""
        for what, count in sorted(self.kinds.items()):
            yield f"{what}, {count} times: no schema of it in Kubernetes {options.kubernetes} or the kinds of gpuc"
        for what, count in sorted(self.others.items()):
            yield f"{what}, {count} times"
        if self.maps and options.chart is None:
            yield f"a map that is no object, {self.maps} times: --chart NAME=VERSION takes such maps for Helm values"


def run_lint(words: list[str]) -> int:
    """Judges the trees that the words name and returns the exit code.

    Raises:
        UsageError: for words that it does not take, and for paths without any YAML.
    """
    from compiler.arguments import parser_of

    started = perf_counter()
    options: LintOptions = parser_of("lint").parse(words, LintOptions())
    places, left = Places(), Left()
    findings: list[Finding] = []
    objects = 0
    for path in dict.fromkeys(options.paths):
        reading = _reading(path, places)
        objects += len(reading.manifests)
        findings += [*reading.findings, *_nameless(reading, places)]
        findings += judge_values(reading.values, options.chart, places)
        findings += [_finding(flaw, places) for flaw in _flaws(reading, options, left)]
        left.others += reading.others
        left.maps += len(reading.values)
    report = Report(
        tuple(findings),
        lines=places.line,
        objects=objects,
        unjudged=tuple(left.sentences(options)),
        seconds=perf_counter() - started if options.format == "text" else None,
    )
    put(render(options.format, report, colour=wants_colour(sys.stdout, os.environ)))
    counting = {"error", "warning"} if options.strict else {"error"}
    return int(any(finding.severity.value in counting for finding in findings))


def _reading(path: str, places: Places) -> Reading:
    """All files below one path: they are judged together, and apart from those of other paths.

    Raises:
        UsageError: where there are none.
    """
    reading = Reading()
    files = list(files_below(path))
    if not files:
        raise UsageError(f"no YAML in {path}")
    for file in files:
        _read(file, reading, places)
    return reading


def _read(file: str, reading: Reading, places: Places) -> None:
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        reading.findings.append(NOT_TEXT.at((), f"the file cannot be read: {reason}", mark=Mark(file, 1, 1)))
        return
    places.add(file, text)
    reading.add(file, text)


def _flaws(reading: Reading, options: LintOptions, left: Left) -> list[Flaw]:
    """What the judges find; kinds without a schema are counted."""
    found: list[Flaw] = []
    others = reading.manifests
    if options.crds is not None:
        from compiler.lint.own_schemas import own_flaws

        own = [each for each in others if _is_own(each, options.crds)]
        others = [each for each in others if not _is_own(each, options.crds)]
        found += own_flaws(options.crds, own, left.others)
    for flaw in schema_flaws(others, options.kubernetes, as_written=True):
        if flaw.fault is UNKNOWN_KIND:
            left.kinds[f"{flaw.manifest.api} {flaw.manifest.kind}"] += 1
        elif flaw.fault is not NOT_CANONICAL:  # how Kubernetes would print a quantity is nobody's mistake
            found.append(flaw)
    return [*found, *judge(Tree(reading.manifests, is_whole=False, values=_values(reading, options)))]


def _values(reading: Reading, options: LintOptions) -> dict[str, dict[str, Any]]:
    """The maps that are no objects, taken for values of the chart that the options name."""
    if options.chart is None:
        return {}
    merged: dict[str, Any] = {}
    for _, _, data in reading.values:
        merged |= data
    return {options.chart: merged}


def _is_own(manifest: Manifest, crds: Path) -> bool:
    """Whether an object is judged by an imported table; gpuc's own know what a ConstraintTemplate declares."""
    from compiler.lint.own_schemas import own_table

    return manifest.kind != "ConstraintTemplate" and own_table(crds, manifest.api, manifest.kind) is not None


def _finding(flaw: Flaw, places: Places) -> Finding:
    manifest = flaw.manifest
    index, *prefix = manifest.origin
    assert isinstance(index, int), "the origin of a read object begins with the index of its document"
    mark = places.mark(manifest.file, index, (*prefix, *flaw.path), on_key=flaw.on_key)
    parts = (str(manifest), place(flaw.path), flaw.message)
    return flaw.fault.at((), ": ".join(filter(None, parts)), fix=flaw.fix, mark=mark)


def _nameless(reading: Reading, places: Places) -> Iterator[Finding]:
    for file, index, path, message in reading.places:
        yield NO_OBJECT.at((), message, mark=places.mark(file, index, path))
