"""`gpuc lint`: files to findings at their lines, and what could not be judged in sentences."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from gpuc.catalog.schemas import builtin_kinds, builtin_versions, table
from gpuc.cli.options import LintOptions
from gpuc.diagnostics.finding import Finding, Mark, Severity, declare_rule
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.report.terminal import wants_colour
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.checks import findings as findings_among
from gpuc.lint.load.charts import (
    CONFIGURATION,
    Judged,
    is_filled_later,
    judge_configuration,
    judge_installs,
    judge_values,
)
from gpuc.lint.load.files import UnreadableError, files_below, text_of
from gpuc.lint.load.installs import Part, installs, is_chart, merged
from gpuc.lint.load.kustomize import has_patches
from gpuc.lint.load.objects import NO_OBJECT, Reading
from gpuc.lint.load.places import Places
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding, place
from gpuc.objects.object_set import ObjectSet, dig, pairs
from gpuc.verify.schema import NOT_CANONICAL, UNKNOWN_KIND, schema_findings

NOT_TEXT = declare_rule(
    "LNT005",
    Severity.ERROR,
    "A file cannot be read.",
    "It is missing, no text in UTF-8, no file at all, or its permissions forbid reading.",
)


@dataclass
class Left:
    """What could not be judged, and how often."""

    kinds: Counter[str] = field(default_factory=Counter)
    """apiVersion and kind of objects that no schema is known of."""
    others: Counter[str] = field(default_factory=Counter)
    maps: Counter[str] = field(default_factory=Counter)
    """Files with maps that are no objects and no values of a chart that the tree installs."""

    def sentences(self, options: LintOptions) -> Iterator[str]:
        """One for each."""
        if self.kinds:
            kinds = ", ".join(_counted(what, count) for what, count in sorted(self.kinds.items()))
            yield f"fields of kinds that gpuc has no schema of: {kinds}{self._hint(options)}"
        for what, count in sorted(self.others.items()):
            yield _counted(what, count)
        if self.maps and options.chart is None:
            files = sorted(self.maps, key=lambda file: ("values" not in file, file))
            shown = ", ".join(files[:_FILES_SHOWN])
            more = f"{len(files)} files, such as {shown}" if len(files) > _FILES_SHOWN else shown
            yield f"maps that are no objects, in {more}: --chart NAME=VERSION takes such maps for Helm values"

    def _hint(self, options: LintOptions) -> str:
        """Where schemas of custom kinds come from; of Kubernetes' own kinds there is nothing to import."""
        is_custom = any("." in what.partition("/")[0] and ".k8s.io/" not in what for what in self.kinds)
        return "; `gpuc crds import` takes them from CRDs, for --crds" if is_custom and options.crds is None else ""


_FILES_SHOWN = 3
_PATCHED_IN = frozenset(("SCH003", "OBJ002", "OBJ022"))
"""Fields, volumes and ports that are missing: patches add them."""
STDIN = "-"
"""The path that stands for what is piped in."""


def _counted(what: str, count: int) -> str:
    return what if count == 1 else f"{what} ({count} times)"


def run_lint(words: list[str]) -> int:
    """Judges the trees that the words name and returns the exit code.

    Raises:
        UsageError: for words that it does not take, and for paths without any YAML.
    """
    from gpuc.cli.arguments import parser_of

    started = perf_counter()
    options: LintOptions = parser_of("lint").parse(words, LintOptions())
    options.kubernetes = _minor(options.kubernetes)
    places, left = Places(), Left()
    findings: list[Finding] = []
    objects = 0
    for path in dict.fromkeys(options.paths):
        reading = _reading(path, places)
        objects += len(reading.manifests)
        charts = _charts(reading, options, places, left)
        findings += [*reading.findings, *charts.findings, *_nameless(reading, options, places, left)]
        findings += [_finding(finding, places) for finding in _object_findings(reading, options, charts.values, left)]
        left.others += reading.others
    report = Report(
        tuple(findings),
        lines=places.line,
        objects=objects,
        unjudged=tuple(left.sentences(options)),
        seconds=perf_counter() - started if options.format == "text" else None,
    )
    write_stdout(render(options.format, report, colour=wants_colour(sys.stdout, os.environ)))
    counting = {"error", "warning"} if options.strict else {"error"}
    return int(any(finding.severity.value in counting for finding in findings))


def _minor(version: str) -> str:
    """The minor version that a word means: "v1.35.4" is 1.35.

    Raises:
        UsageError: for a version whose kinds gpuc does not know.
    """
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    if not builtin_kinds(minor):
        raise UsageError(f"the kinds of Kubernetes {version} are not known: {', '.join(builtin_versions())}")
    return minor


def _reading(path: str, places: Places) -> Reading:
    """All files below one path: they are judged together, and apart from those of other paths.

    Raises:
        UsageError: where there are none.
    """
    reading = Reading()
    files = [path] if path == STDIN else list(files_below(path))
    if not files:
        raise UsageError(f"no YAML in {path}")
    for file in files:
        _read(file, reading, places)
    reading.settle()
    return reading


def _read(file: str, reading: Reading, places: Places) -> None:
    try:
        text = text_of("/dev/stdin" if file == STDIN else file)
    except UnreadableError as error:
        reading.findings.append(NOT_TEXT.at((), f"the file cannot be read: {error}", mark=Mark(file, 1, 1)))
        return
    places.add(file, text)
    reading.add(file, text)


def _charts(reading: Reading, options: LintOptions, places: Places, left: Left) -> Judged:
    """What is known of charts: those that the tree installs, and the one whose values the options name."""
    judged = judge_installs(installs(reading.manifests, reading.values, reading.tools), reading.manifests, places)
    left.others += judged.others
    rest = [each for each in reading.values if each[:2] not in judged.files and not is_chart(each[0], each[2])]
    if options.chart is None:
        left.maps.update(file for file, _, _ in rest)
    else:
        judged.findings += judge_values(rest, options.chart, places)
        for _, _, data in rest:
            judged.values[options.chart] = merged(judged.values.get(options.chart, {}), data)
    for part in _configurations(reading):
        judged.findings += judge_configuration(part, places)
    return judged


def _configurations(reading: Reading) -> Iterator[Part]:
    """Files and texts of ConfigMaps that Kueue's controller may read."""
    group = CONFIGURATION[0].rpartition("/")[0]
    for each in reading.nameless:
        if each.api.startswith(group):
            yield Part(each.file, each.index, each.path, each.data)
    for manifest in reading.manifests:
        if (manifest.api, manifest.kind) == ("v1", "ConfigMap"):
            index, *prefix = manifest.origin
            for key, text in pairs(manifest.body.get("data")):
                if isinstance(text, str) and group in text and isinstance(index, int):
                    yield Part(manifest.file, index, (*prefix, "data", key), text)


def _object_findings(
    reading: Reading, options: LintOptions, values: Mapping[str, Any], left: Left
) -> list[ObjectFinding]:
    """What the judges find; kinds without a schema are counted, and so is what a tool fills in later."""
    found: list[ObjectFinding] = list(reading.object_findings)
    others = reading.manifests
    if options.crds is not None:
        from gpuc.lint.crds.schemas import crd_findings

        own = [each for each in others if _is_own(each, options.crds)]
        others = [each for each in others if not _is_own(each, options.crds)]
        found += crd_findings(options.crds, own, left.others)
    for finding in schema_findings(others, options.kubernetes, as_written=True):
        if finding.rule is UNKNOWN_KIND:
            if finding.manifest.kind == "Event":
                continue  # dumps have them; they record what happened and configure nothing
            left.kinds[f"{finding.manifest.api} {finding.manifest.kind}"] += 1
        elif finding.rule is not NOT_CANONICAL:  # how Kubernetes would print a quantity is nobody's mistake
            found.append(finding)
    found += findings_among(ObjectSet(reading.manifests, is_complete=False, values=values))
    if has_patches(reading.tools) and (shaky := [each for each in found if each.rule.id in _PATCHED_IN]):
        left.others["what patches of Kustomize may add: lint what `kubectl kustomize` prints"] += len(shaky)
        found = [each for each in found if each.rule.id not in _PATCHED_IN]
    open_places = [each for each in found if is_filled_later(dig(each.manifest.document(), *each.path))]
    if open_places:
        left.others["values that a tool fills in later, such as ${NAME}: lint what it prints"] += len(open_places)
    return [each for each in found if each not in open_places] if open_places else found


def _is_own(manifest: Manifest, crds: Path) -> bool:
    """Whether an object is judged by an imported table; gpuc's own know what a ConstraintTemplate declares."""
    return manifest.kind != "ConstraintTemplate" and _has_own(crds, manifest.api, manifest.kind)


def _has_own(crds: Path, api: str, kind: str) -> bool:
    from gpuc.lint.crds.schemas import own_table

    return own_table(crds, api, kind) is not None


_LONGEST = 600
"""So many characters are told of one finding: values may be as long as files."""


def _finding(finding: ObjectFinding, places: Places) -> Finding:
    manifest = finding.manifest
    index, *prefix = manifest.origin
    assert isinstance(index, int), "the origin of a read object begins with the index of its document"
    mark = places.mark(manifest.file, index, (*prefix, *finding.path), on_key=finding.on_key)
    message = finding.message if len(finding.message) <= _LONGEST else f"{finding.message[:_LONGEST]}..."
    parts = (str(manifest), place(finding.path), message)
    return finding.rule.at((), ": ".join(filter(None, parts)), fix=finding.fix, mark=mark)


def _nameless(reading: Reading, options: LintOptions, places: Places, left: Left) -> Iterator[Finding]:
    """Objects without a name; of a kind that gpuc does not know it may be a file that a program reads."""
    for each in reading.nameless:
        own = options.crds is not None and _has_own(options.crds, each.api, each.kind)
        if own or table(each.api, each.kind, options.kubernetes) is not None:
            yield NO_OBJECT.at((), each.message, mark=places.mark(each.file, each.index, each.path))
        elif (each.api, each.kind) != CONFIGURATION:
            left.others[f"{each.api} {each.kind} without a name: a file that a program reads itself"] += 1
