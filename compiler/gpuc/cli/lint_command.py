"""`gpuc lint`: files to findings at their lines, and what could not be checked in sentences."""

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
from gpuc.lint.load.chart_installs import ValuesSource, chart_installs, is_chart, merged_values
from gpuc.lint.load.chart_values import (
    CONFIGURATION,
    ChartResult,
    check_chart_installs,
    check_kueue_configuration,
    check_values_files,
    is_filled_later,
)
from gpuc.lint.load.files import UnreadableError, files_below, text_of
from gpuc.lint.load.kustomize import has_patches
from gpuc.lint.load.loaded_files import NO_OBJECT, LoadedFiles
from gpuc.lint.load.source_map import SourceMap
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
    """What could not be checked, and how often."""

    kinds: Counter[str] = field(default_factory=Counter)
    """apiVersion and kind of objects that no schema is known of."""
    others: Counter[str] = field(default_factory=Counter)
    maps: Counter[str] = field(default_factory=Counter)
    """Files with maps that are no objects and no values of a chart that the files install."""

    def sentences(self, options: LintOptions) -> Iterator[str]:
        """One for each."""
        if self.kinds:
            kinds = ", ".join(_counted(what, count) for what, count in sorted(self.kinds.items()))
            yield f"the fields of kinds for which gpuc has no schema: {kinds}{self._hint(options)}"
        for what, count in sorted(self.others.items()):
            yield _counted(what, count)
        if self.maps and options.chart is None:
            files = sorted(self.maps, key=lambda file: ("values" not in file, file))
            shown = ", ".join(files[:_FILES_SHOWN])
            more = f"{len(files)} files, such as {shown}" if len(files) > _FILES_SHOWN else shown
            yield f"documents that are not Kubernetes objects, in {more}; for Helm values add --chart NAME=VERSION"

    def _hint(self, options: LintOptions) -> str:
        """Where schemas of custom kinds come from; of Kubernetes' own kinds there is nothing to import."""
        is_custom = any("." in what.partition("/")[0] and ".k8s.io/" not in what for what in self.kinds)
        return "; import the CRDs with `gpuc crds import`, add --crds" if is_custom and options.crds is None else ""


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
    source_map, left = SourceMap(), Left()
    findings: list[Finding] = []
    objects = 0
    for path in dict.fromkeys(options.paths):
        reading = _reading(path, source_map)
        objects += len(reading.manifests)
        charts = _charts(reading, options, source_map, left)
        findings += [*reading.findings, *charts.findings, *_nameless(reading, options, source_map, left)]
        findings += [
            _finding(finding, source_map) for finding in _object_findings(reading, options, charts.values, left)
        ]
        left.others += reading.unchecked
    report = Report(
        tuple(findings),
        lines=source_map.line,
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


def _reading(path: str, source_map: SourceMap) -> LoadedFiles:
    """All files below one path: they are checked together, and apart from those of other paths.

    Raises:
        UsageError: where there are none.
    """
    reading = LoadedFiles()
    files = [path] if path == STDIN else list(files_below(path))
    if not files:
        raise UsageError(f"no YAML in {path}")
    for file in files:
        _read(file, reading, source_map)
    reading.apply_kustomizations()
    return reading


def _read(file: str, reading: LoadedFiles, source_map: SourceMap) -> None:
    try:
        text = text_of("/dev/stdin" if file == STDIN else file)
    except UnreadableError as error:
        reading.findings.append(NOT_TEXT.at((), f"the file cannot be read: {error}", mark=Mark(file, 1, 1)))
        return
    source_map.add(file, text)
    reading.add(file, text)


def _charts(reading: LoadedFiles, options: LintOptions, source_map: SourceMap, left: Left) -> ChartResult:
    """What is known of charts: those that the files install, and the one whose values the options name."""
    checked = check_chart_installs(
        chart_installs(reading.manifests, reading.other_maps, reading.kustomizations), reading.manifests, source_map
    )
    left.others += checked.unchecked
    rest = [each for each in reading.other_maps if each[:2] not in checked.documents and not is_chart(each[0], each[2])]
    if options.chart is None:
        left.maps.update(file for file, _, _ in rest)
    else:
        checked.findings += check_values_files(rest, options.chart, source_map)
        for _, _, data in rest:
            checked.values[options.chart] = merged_values(checked.values.get(options.chart, {}), data)
    for part in _configurations(reading):
        checked.findings += check_kueue_configuration(part, source_map)
    return checked


def _configurations(reading: LoadedFiles) -> Iterator[ValuesSource]:
    """Files and texts of ConfigMaps that Kueue's controller may read."""
    group = CONFIGURATION[0].rpartition("/")[0]
    for each in reading.unnamed:
        if each.api.startswith(group):
            yield ValuesSource(each.file, each.index, each.path, each.data)
    for manifest in reading.manifests:
        if (manifest.api, manifest.kind) == ("v1", "ConfigMap"):
            index, *prefix = manifest.origin
            for key, text in pairs(manifest.body.get("data")):
                if isinstance(text, str) and group in text and isinstance(index, int):
                    yield ValuesSource(manifest.file, index, (*prefix, "data", key), text)


def _object_findings(
    reading: LoadedFiles, options: LintOptions, values: Mapping[str, Any], left: Left
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
    if has_patches(reading.kustomizations) and (shaky := [each for each in found if each.rule.id in _PATCHED_IN]):
        left.others["missing fields that Kustomize patches may add; lint the output of `kubectl kustomize`"] += len(
            shaky
        )
        found = [each for each in found if each.rule.id not in _PATCHED_IN]
    open_places = [each for each in found if is_filled_later(dig(each.manifest.document(), *each.path))]
    if open_places:
        left.others["values that a tool replaces, such as ${NAME}; lint the output of the tool"] += len(open_places)
    return [each for each in found if each not in open_places] if open_places else found


def _is_own(manifest: Manifest, crds: Path) -> bool:
    """Whether an object is checked by an imported table; gpuc's own know what a ConstraintTemplate declares."""
    return manifest.kind != "ConstraintTemplate" and _has_own(crds, manifest.api, manifest.kind)


def _has_own(crds: Path, api: str, kind: str) -> bool:
    from gpuc.lint.crds.schemas import imported_table

    return imported_table(crds, api, kind) is not None


_LONGEST = 600
"""So many characters are told of one finding: values may be as long as files."""


def _finding(finding: ObjectFinding, source_map: SourceMap) -> Finding:
    manifest = finding.manifest
    index, *prefix = manifest.origin
    assert isinstance(index, int), "the origin of a read object begins with the index of its document"
    mark = source_map.mark(manifest.file, index, (*prefix, *finding.path), on_key=finding.on_key)
    message = finding.message if len(finding.message) <= _LONGEST else f"{finding.message[:_LONGEST]}..."
    parts = (str(manifest), place(finding.path), message)
    return finding.rule.at((), ": ".join(filter(None, parts)), fix=finding.fix, mark=mark)


def _nameless(reading: LoadedFiles, options: LintOptions, source_map: SourceMap, left: Left) -> Iterator[Finding]:
    """Objects without a name; of a kind that gpuc does not know it may be a file that a program reads."""
    for each in reading.unnamed:
        own = options.crds is not None and _has_own(options.crds, each.api, each.kind)
        if own or table(each.api, each.kind, options.kubernetes) is not None:
            yield NO_OBJECT.at((), each.message, mark=source_map.mark(each.file, each.index, each.path))
        elif (each.api, each.kind) != CONFIGURATION:
            left.others[f"{each.api} {each.kind} without a name, probably the configuration file of a program"] += 1
