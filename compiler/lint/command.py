"""`gpuc lint`: files to findings at their lines, and what could not be judged in sentences."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from compiler.finding import Finding, Mark, Severity, fault
from compiler.lint.charts import judge_values
from compiler.lint.objects import NO_OBJECT, Reading
from compiler.lint.places import Places
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
SUFFIXES = (".yaml", ".yml", ".json")


def run_lint(words: list[str]) -> int:
    """Judges the trees that the words name and returns the exit code.

    Raises:
        UsageError: for words that it does not take, and for paths without any YAML.
    """
    from compiler.arguments import parser_of

    started = perf_counter()
    options: LintOptions = parser_of("lint").parse(words, LintOptions())
    files = list(dict.fromkeys(file for path in options.paths for file in _files(path)))
    if not files:
        raise UsageError(f"no YAML below {', '.join(options.paths)}")
    reading, places = Reading(), Places()
    for file in files:
        _read(file, reading, places)
    flaws, unknown = _flaws(reading, options)
    findings = [*reading.findings, *_nameless(reading, places), *judge_values(reading.values, options.chart, places)]
    findings += [_finding(flaw, places) for flaw in flaws]
    report = Report(
        tuple(findings),
        lines=places.line,
        objects=len(reading.manifests),
        unjudged=tuple(_unjudged(reading, unknown, options)),
        seconds=perf_counter() - started if options.format == "text" else None,
    )
    put(render(options.format, report, colour=wants_colour(sys.stdout, os.environ)))
    counting = {"error", "warning"} if options.strict else {"error"}
    return int(any(finding.severity.value in counting for finding in findings))


def _files(path: str) -> Iterator[str]:
    """The YAML and JSON files below a path, sorted; a file that is named is taken whatever its name."""
    if os.path.isfile(path):
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(SUFFIXES))


def _read(file: str, reading: Reading, places: Places) -> None:
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        reading.findings.append(NOT_TEXT.at((), f"the file cannot be read: {reason}", mark=Mark(file, 1, 1)))
        return
    places.add(file, text)
    reading.add(file, text)


def _flaws(reading: Reading, options: LintOptions) -> tuple[list[Flaw], Counter[str]]:
    """What the judges find, and the kinds that have no schema."""
    found, unknown = [], Counter[str]()
    for flaw in schema_flaws(reading.manifests, options.kubernetes, as_written=True):
        if flaw.fault is UNKNOWN_KIND:
            unknown[f"{flaw.manifest.api} {flaw.manifest.kind}"] += 1
        elif flaw.fault is not NOT_CANONICAL:  # how Kubernetes would print a quantity is nobody's mistake
            found.append(flaw)
    return [*found, *judge(Tree(reading.manifests, is_whole=False))], unknown


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


def _unjudged(reading: Reading, unknown: Counter[str], options: LintOptions) -> Iterator[str]:
    for what, count in sorted(unknown.items()):
        yield f"{what}, {count} times: no schema of it in Kubernetes {options.kubernetes} or the kinds that gpuc knows"
    for what, count in sorted(reading.others.items()):
        yield f"{what}, {count} times"
    if reading.values and options.chart is None:
        yield f"a map that is no object, {len(reading.values)} times: --chart NAME=VERSION takes them for Helm values"
