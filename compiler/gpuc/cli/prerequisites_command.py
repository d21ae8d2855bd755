"""`gpuc prerequisites`: lists what must exist outside of the output of a cluster, and the objects that need it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuc.cli.reports import show_compiled
from gpuc.diagnostics.finding import Mark
from gpuc.diagnostics.report.console import print_document, write_stdout
from gpuc.diagnostics.report.document import json_text, picked, position
from gpuc.diagnostics.words import first_names
from gpuc.emit.prerequisites import chapters
from gpuc.emit.prerequisites.record import Prerequisite
from gpuc.manifest.manifest import Manifest
from gpuc.needs import needs_of
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


def run_prerequisites(spec: str | None = None, form: str = "text") -> int:
    """Prints what must exist outside of the output of a cluster, and returns the exit code.

    Args:
        spec: a spec file or the name of a cluster; None if the fleet has only one cluster.

    Raises:
        UsageError: if the fleet has several clusters and no argument names one.
    """
    return show_compiled(lambda compiled: _show(compiled, form), spec, "prerequisites", form)


def _show(compiled: CompiledSpec, form: str) -> None:
    rows = _rows(compiled)
    if form == "json":
        data = {"cluster": compiled.cluster.name, "prerequisites": [_data(row) for row in rows]}
        write_stdout(json_text(data, 1))
    else:
        print_document(_blocks(compiled, rows))


def _rows(compiled: CompiledSpec) -> list[_Row]:
    """Returns the prerequisites in the order of the README."""
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
