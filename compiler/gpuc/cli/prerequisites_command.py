"""`gpuc prerequisites`: lists what the output of a cluster needs from outside, with the objects that need it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuc.cli.specs import find_root, only_file
from gpuc.diagnostics.report.console import print_document, write_stdout
from gpuc.diagnostics.report.document import json_text, picked, position
from gpuc.diagnostics.words import first_names

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Mark
    from gpuc.emit.prerequisites.record import Prerequisite
    from gpuc.manifest.manifest import Manifest
    from gpuc.pipeline.stages import CompiledSpec

_NAMED_OBJECTS = 3
"""The largest number of objects that the text names for a prerequisite."""


class _Row(NamedTuple):
    """A prerequisite with the objects that need it."""

    chapter: str
    """The title of the first chapter of the README with the prerequisite."""
    record: Prerequisite
    objects: list[Manifest]
    mark: Mark


class PrerequisitesOptions:
    """The options of prerequisites, with their defaults."""

    spec: str | None = None
    """A spec file or the name of a cluster; None for the only cluster."""
    format: str = "text"


def run_prerequisites(arguments: list[str]) -> int:
    """Runs `gpuc prerequisites` and returns the exit code.

    Raises:
        UsageError: for wrong arguments, and if the fleet has several clusters and no argument names one.
    """
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.refused import refused
    from gpuc.diagnostics.finding import StageError
    from gpuc.pipeline.pipeline import located_errors
    from gpuc.pipeline.stages import compiled_spec

    options: PrerequisitesOptions = parser_of("prerequisites").parse(arguments, PrerequisitesOptions())
    root = find_root(Path.cwd())
    file = only_file(root, [options.spec] if options.spec else [], "prerequisites")
    try:
        compiled = compiled_spec(root, file)
    except StageError as error:
        return refused(root, located_errors(root, file, error), [file], options.format)
    rows = _rows(compiled)
    if options.format == "json":
        data = {"cluster": compiled.cluster.name, "prerequisites": [_data(row) for row in rows]}
        write_stdout(json_text(data, 1))
    else:
        print_document(_blocks(compiled, rows))
    return 0


def _rows(compiled: CompiledSpec) -> list[_Row]:
    """Returns the prerequisites in the order of the README."""
    from gpuc.emit.prerequisites import chapters
    from gpuc.needs import needs_of

    objects: dict[str, dict[str, Manifest]] = {}
    for need in needs_of(compiled.cluster, compiled.artifacts):
        objects.setdefault(need.id, {}).setdefault(f"{need.manifest} {need.manifest.file}", need.manifest)
    rows: dict[str, _Row] = {}
    for chapter in chapters(compiled.cluster):
        for record in chapter.prerequisites:
            needing = list(objects.get(record.id, {}).values())
            rows.setdefault(record.id, _Row(chapter.title, record, needing, compiled.source.locate(record.path)))
    return list(rows.values())


def _blocks(compiled: CompiledSpec, rows: list[_Row]) -> Iterator[str]:
    readme = compiled.cluster.entry("README.md")
    yield f"{compiled.cluster.name}: {len(rows)} prerequisites, in the order of {readme}"
    for number, title in enumerate(dict.fromkeys(row.chapter for row in rows), 1):
        yield from ("", f"{number}. {title}")
        for row in (row for row in rows if row.chapter == title):
            yield from ("", f"  {row.record.what}  [{row.record.id}]")
            yield from (f"    {name:<9}  {text}" for name, text in _facts(row))


def _facts(row: _Row) -> Iterator[tuple[str, str]]:
    yield "spec", str(row.mark)
    yield "needed by", first_names([f"{item} ({item.file})" for item in row.objects], _NAMED_OBJECTS)
    yield "because", row.record.reason
    yield from (("check", command) for command in row.record.checks)
    yield "expected", row.record.expected


def _data(row: _Row) -> dict[str, Any]:
    return {
        **picked(row.record, "id what reason checks expected"),
        "chapter": row.chapter,
        "spec": position(row.mark),
        "objects": [picked(item, "kind namespace name file") for item in row.objects],
    }
