"""Lints the files below a path: loads the files, then checks the objects, the Helm values and Kueue's configuration."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.catalog import Catalog, load
from gpuc.catalog.schemas import table
from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.diagnostics.finding import Finding, Mark
from gpuc.diagnostics.place import place
from gpuc.diagnostics.spelling import misspelt
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.source_map import SourceMap
from gpuc.lint import rule_of
from gpuc.lint.checks import findings as check_objects
from gpuc.lint.knowledge import Knowledge
from gpuc.lint.load.chart_installs import ValuesSource, chart_installs, is_chart, merged_values
from gpuc.lint.load.chart_values import (
    ChartResult,
    check_chart_installs,
    check_document,
    check_values_files,
    is_filled_later,
)
from gpuc.lint.load.files import STDIN, files_below
from gpuc.lint.load.inputs_of_tests import tests_of
from gpuc.lint.load.loaded_files import NO_OBJECT, LoadedFiles, is_object, load_files
from gpuc.lint.removed_apis import REMOVED, removed
from gpuc.lint.severity import severity
from gpuc.lint.unchecked import Unchecked
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, pairs
from gpuc.verify.fields.schema import QUANTITY_NOT_CANONICAL, RULES, schema_findings, unknown_kind

NOT_TEXT = rule_of("LNT005")
MANY = 3000
"""The number of files or objects from which on the steps are shown; fewer take some seconds."""
_PATHS_IN_PROCESSES = 8
"""The least number of paths for several processes. The start of a process takes some milliseconds."""
_MAX_MESSAGE = 600
"""The maximal length of a message, in characters: values may be as long as files."""


class Linter(Struct):
    """Lints paths one after another and collects the findings."""

    kubernetes: str
    """The minor version of the cluster."""
    chart: str | None = None
    """The component of the release set whose Helm values are in the documents without a kind (--chart)."""
    crds: Path | None = None
    """A folder of schemas from `gpuc crds import`. The imported schemas take precedence over gpuc's own schemas."""
    catalog: Catalog | None = None
    """The catalog of the fleet; None for the catalog of gpuc."""
    findings: list[Finding] = field(default_factory=list)
    objects: int = 0
    """Number of objects that were checked."""
    unchecked: Unchecked = field(default_factory=Unchecked)
    source_map: SourceMap = field(default_factory=SourceMap)
    build: bool = False
    """Whether kustomize builds Kustomizations."""
    is_complete: bool = False
    """Whether the files of each path have all objects of a cluster (--complete)."""
    progress: Callable[[str], None] | None = None
    """Shows the steps of a path with many files."""

    def lint(self, path: str) -> None:
        """Lints all files below a path as one cluster, and adds the findings to the findings of this Linter.

        Other paths count as other clusters, because a repository can have clusters whose objects have the same names.

        Raises:
            UsageError: when the path has no YAML or JSON file.
        """
        names = [path] if path == STDIN else list(files_below(path))
        if not names:
            raise UsageError(f"no YAML in {path}")
        tests = {} if self.is_complete or names == [path] else tests_of(names, path)
        of_tests = "which are inputs of tests or wrong on purpose; name these files to judge them"
        self.unchecked.reasons.update(f"files in {folder}, {of_tests}" for folder in tests.values())
        names = [name for name in names if name not in tests] if tests else names
        files, before = load_files(self._counted(names), self.source_map, self.build), len(self.findings)
        for file, reason in files.unreadable:
            self.findings.append(NOT_TEXT.at((), f"the file cannot be read: {reason}", mark=Mark(file, 1, 1)))
        self.findings += files.findings
        for world in files.worlds():
            self.objects += len(world.manifests)
            if self.progress and max(len(names), len(world.manifests)) >= MANY:
                self.progress(f"checking {len(world.manifests)} objects")
            charts = self._check_charts(world)
            self.findings += [*charts.findings, *self._unnamed_findings(world)]
            self.findings += [self._located(finding) for finding in self._object_findings(world, charts.values, path)]
        self.unchecked.add(Unchecked(reasons=files.unchecked, remarks=files.remarks))
        if files.commented:
            from gpuc.diagnostics.suppressions import apply_ignored
            from gpuc.lint.ignores import comments

            ignores = comments(files.commented)
            kept, accepted = apply_ignored(self.findings[before:], ignores.entries, [path])
            self.findings[before:] = [*kept, *ignores.findings]
            self.unchecked.accepted += accepted

    def lint_all(self, paths: Sequence[str]) -> None:
        """Lints paths one after another, or on all cores if there are many paths. The order of the results is the same.

        Raises:
            UsageError: when a path has no YAML or JSON file.
        """
        cores = os.cpu_count() or 1
        if len(paths) < _PATHS_IN_PROCESSES or cores < 2 or STDIN in paths or not hasattr(os, "fork"):
            for path in paths:
                self.lint(path)
            return
        from multiprocessing import get_context

        _Process.settings = replace(self, progress=None)
        with get_context("fork").Pool(min(cores, len(paths))) as pool:
            for findings, objects, unchecked, texts in pool.imap(_Process.linted, paths):
                self.findings += findings
                self.objects += objects
                self.unchecked.add(unchecked)
                for file, text in texts.items():
                    self.source_map.add(file, text)

    def _counted(self, names: Sequence[str]) -> Iterator[str]:
        """Yields the names of files, and shows the number of the file if there are many."""
        for number, name in enumerate(names, 1):
            if self.progress and len(names) >= MANY:
                self.progress(f"reading file {number} of {len(names)}")
            yield name

    def _check_charts(self, files: LoadedFiles) -> ChartResult:
        """Checks the Helm values of the charts that the files install, and of the chart that the user named."""
        installs = chart_installs(files.manifests, files.other_maps, files.kustomizations)
        result = check_chart_installs(installs, files.manifests, self.source_map)
        self.unchecked.reasons += result.unchecked
        others = [
            document
            for document in files.other_maps
            if document[:2] not in result.documents and not is_chart(document[0], document[2])
        ]
        if self.chart is None:
            self.unchecked.documents.update(file for file, _, _ in others)
        else:
            result.findings += check_values_files(others, self.chart, self.source_map)
            for _, _, data in others:
                result.values[self.chart] = merged_values(result.values.get(self.chart, {}), data)
        for source in _documents(files):
            result.findings += check_document(source, self.source_map)
        return result

    def _object_findings(self, files: LoadedFiles, values: Mapping[str, Any], path: str) -> Iterator[ObjectFinding]:
        """Yields the findings about the objects that the input proves, and counts what it does not prove."""
        objects = ObjectSet(files.manifests, is_complete=False, values=values, catalog=self.catalog)
        knowledge = Knowledge(objects, files, self.source_map, path, self.is_complete)
        reported: set[tuple[Any, ...]] = set()
        found = (*files.object_findings, *self._schema_findings(files.manifests), *check_objects(objects))
        unknown = (row for row in found if row.rule is RULES[ErrorKind.UNKNOWN])
        meant = ((row, misspelt(str(row.path[-1]), row.message.split('"')[1:2])) for row in unknown)
        there = {(id(row.manifest), (*row.path[:-1], name)) for row, name in meant}
        for finding in found:
            places = [(id(finding.manifest), finding.path[:end]) for end in range(len(finding.path), 0, -1)]
            whole = (id(finding.manifest), ())
            if finding.yields and any(place in reported for place in (whole, *places)):
                continue  # a schema has the same requirement, or requires a structure around the field
            reported.update([whole] if finding.rule is REMOVED else places[:1])  # older versions have other fields
            if finding.rule is RULES[ErrorKind.MISSING] and not there.isdisjoint(places[:1]):
                continue  # the finding about the misspelt name has the fix
            reason = knowledge.not_judged(finding)
            value = dig(finding.manifest.document(), *finding.path)
            # Most fields that the API server refuses are references to names.
            is_name = finding.yields or finding.path in (("metadata", "name"), ("metadata", "namespace"))
            # What fills in the name of an object can replace its other values too.
            names = () if finding.on_key else (finding.manifest.name,)
            names += tuple(value) if isinstance(value, dict) else ()
            if is_filled_later(value, is_name=is_name, message=finding.message) or any(
                map(is_filled_later, (*finding.path[-1:], *names))
            ):
                reason = "values that a tool replaces, such as ${NAME}; lint the output of the tool"
            if reason:
                self.unchecked.reasons[reason] += 1
            else:
                yield finding

    def _schema_findings(self, manifests: list[Manifest]) -> Iterator[ObjectFinding]:
        """Checks the objects against the schemas of their kinds, and counts the kinds without a schema."""
        has_definitions = any(manifest.kind == "CustomResourceDefinition" for manifest in manifests)
        if self.crds is not None or has_definitions:
            from gpuc.lint.crds.schemas import crd_findings, defined, has_table

            sources = (*filter(None, [self.crds]), defined(manifests))
            for source in sources:
                # ConstraintTemplates always use gpuc's own schema, which is more precise.
                own = [row for row in manifests if row.kind == "ConstraintTemplate" or not has_table(source, row)]
                kept = set(map(id, own))
                found = [row for row in manifests if id(row) not in kept]
                yield from crd_findings(source, found, self.unchecked.reasons)
                manifests = own
        for finding in schema_findings(manifests, self.kubernetes, as_written=True):
            if finding.rule is unknown_kind.rule:
                if gone := removed(finding.manifest, self.kubernetes):
                    yield gone
                # Cluster dumps contain Events, which configure nothing.
                elif finding.manifest.kind != "Event":
                    self.unchecked.kinds[f"{finding.manifest.api} {finding.manifest.kind}"] += 1
            # The canonical form of a quantity matters only in gpuc's output.
            elif finding.rule is not QUANTITY_NOT_CANONICAL and not _is_set_by_webhook(finding):
                yield finding

    def _unnamed_findings(self, files: LoadedFiles) -> Iterator[Finding]:
        """Yields the findings about objects without a name.

        A document of an unknown kind without a name is probably the configuration file of a program: it is counted as
        unchecked instead, unless it has other metadata and the API group is a domain.
        """
        for unnamed in files.unnamed:
            api, kind = unnamed.api, unnamed.kind
            is_known = self._is_imported(api, kind) or table(api, kind, self.kubernetes) is not None
            if not self.is_complete and dict(pairs(unnamed.data.get("metadata"))).get("name", 0) in (None, ""):
                self.unchecked.reasons["objects with an empty name, which people or programs fill in"] += 1
            elif is_known or is_object(unnamed):
                mark = self.source_map.mark(unnamed.file, unnamed.path)
                yield NO_OBJECT.at((), unnamed.message, mark=mark)
            elif (api, kind) not in {(row.api, row.kind) for row in load().documents}:
                reason = f"{api} {kind} without a name, probably the configuration file of a program"
                self.unchecked.reasons[reason] += 1

    def _is_imported(self, api: str, kind: str) -> bool:
        if self.crds is None:
            return False
        from gpuc.lint.crds.schemas import imported_table

        return imported_table(self.crds, api, kind) is not None

    def _located(self, finding: ObjectFinding) -> Finding:
        """Returns the finding with the line and column of its path in the file."""
        manifest = finding.manifest
        mark = self.source_map.mark(manifest.file, (*manifest.origin, *finding.path), finding.on_key)
        message = finding.message
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]}..."
        parts = (str(manifest), place(finding.path), message)
        located = finding.rule.at((), ": ".join(filter(None, parts)), fix=finding.fix, mark=mark)
        return replace(located, severity=severity(finding))


def _is_set_by_webhook(finding: ObjectFinding) -> bool:
    """Returns whether a webhook of a workload's controller sets a missing field before the API server checks it."""
    manifest = finding.manifest
    if finding.rule is not RULES[ErrorKind.MISSING] or "." not in group(manifest):
        return False
    from gpuc.admission.validation.validation import with_defaults

    return dig(with_defaults(manifest.document()), *finding.path) is not None


class _Process:
    """What a process of `lint_all` runs. The process is a fork, so it has the settings."""

    settings: Linter

    @classmethod
    def linted(cls, path: str) -> tuple[list[Finding], int, Unchecked, dict[str, str]]:
        """Returns the results of a path: findings, the number of objects, unchecked input, and texts with findings."""
        linter = replace(cls.settings, findings=[], objects=0, unchecked=Unchecked(), source_map=SourceMap())
        linter.lint(path)
        files = {finding.mark.file for finding in linter.findings if finding.mark}
        texts = {file: linter.source_map.text(file) for file in files}
        return linter.findings, linter.objects, linter.unchecked, texts


def _documents(files: LoadedFiles) -> Iterator[ValuesSource]:
    """Yields the files and the values of ConfigMaps that may be the configuration of a controller."""
    groups = tuple(row.api.rpartition("/")[0] for row in load().documents)
    for unnamed in files.unnamed:
        if unnamed.api.startswith(groups):
            yield ValuesSource(unnamed.file, unnamed.path, unnamed.data)
    for manifest in files.manifests:
        if (manifest.api, manifest.kind) == ("v1", "ConfigMap") and isinstance(manifest.origin[0], int):
            for key, text in pairs(manifest.body.get("data")):
                if isinstance(text, str) and any(group in text for group in groups):
                    yield ValuesSource(manifest.file, (*manifest.origin, "data", key), text)
