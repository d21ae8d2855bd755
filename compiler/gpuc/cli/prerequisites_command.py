"""`gpuc prerequisites`: lists what the output of a cluster needs from outside, with the objects that need it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpuc.cli.reports import refused
from gpuc.cli.specs import selected
from gpuc.diagnostics.finding import Mark, StageError
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.report.terminal import visible
from gpuc.diagnostics.usage import UsageError
from gpuc.emit.prerequisites import chapters
from gpuc.emit.prerequisites.record import Prerequisite
from gpuc.manifest.manifest import Manifest
from gpuc.needs import needs_of
from gpuc.pipeline.pipeline import located_errors
from gpuc.pipeline.stages import CompiledSpec, compiled_spec

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
    """Prints the prerequisites of a cluster, and returns the exit code.

    Args:
        spec: a spec file or the name of a cluster; None for the only cluster.

    Raises:
        UsageError: if the fleet has several clusters and no argument names one.
    """
    root, files = selected([spec] if spec else [])
    if len(files) != 1:
        raise UsageError(
            f"specs/ has {len(files)} clusters; name one of them: {', '.join(Path(file).stem for file in files)}"
        )
    try:
        compiled = compiled_spec(root, files[0])
    except StageError as error:
        return refused(root, located_errors(root, files[0], error), files, form)
    rows = _rows(compiled)
    write_stdout(_json(compiled, rows) if form == "json" else _text(compiled, rows))
    return 0


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


def _text(compiled: CompiledSpec, rows: list[_Row]) -> str:
    readme = compiled.cluster.entry("README.md")
    lines = [f"{compiled.cluster.name}: {len(rows)} prerequisites, in the order of {readme}"]
    for number, title in enumerate(dict.fromkeys(row.chapter for row in rows), 1):
        lines += ["", f"{number}. {title}"]
        for row in (row for row in rows if row.chapter == title):
            lines += ["", f"  {row.record.what}  [{row.record.id}]"]
            lines += [f"    {name:<9}  {text}" for name, text in _facts(row)]
    return "".join(f"{visible(line)}\n" for line in lines)


def _facts(row: _Row) -> Iterator[tuple[str, str]]:
    named = [f"{item} ({item.file})" for item in row.objects[:_NAMED_OBJECTS]]
    more = len(row.objects) - len(named)
    yield "spec", str(row.mark)
    yield "needed by", ", ".join(named) + (f" and {more} more" if more else "")
    yield "because", row.record.reason
    yield from (("check", command) for command in row.record.checks)
    yield "expected", row.record.expected


def _json(compiled: CompiledSpec, rows: list[_Row]) -> str:
    documents = [
        {
            **{name: getattr(row.record, name) for name in ("id", "what", "reason", "checks", "expected")},
            "chapter": row.chapter,
            "spec": {"file": row.mark.file, "line": row.mark.line, "column": row.mark.column},
            "objects": [
                {name: getattr(item, name) for name in ("kind", "namespace", "name", "file")} for item in row.objects
            ],
        }
        for row in rows
    ]
    return json.dumps({"cluster": compiled.cluster.name, "prerequisites": documents}, indent=2) + "\n"
