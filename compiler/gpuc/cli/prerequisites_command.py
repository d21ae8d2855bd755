"""`gpuc prerequisites`: lists what the output of a cluster needs from outside, with the objects that need it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cli.specs import find_root
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.usage import UsageError

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Mark
    from gpuc.emit.prerequisites.record import Chapter, Prerequisite
    from gpuc.manifest.manifest import Manifest
    from gpuc.pipeline.stages import CompiledSpec

_NAMED_OBJECTS = 3
"""The largest number of objects that the text names for a prerequisite."""


class PrerequisitesOptions:
    """The options of prerequisites, with their defaults."""

    spec: str | None = None
    """A spec file or the name of a cluster; None for the only cluster."""
    format: str = "text"


@dataclass(frozen=True, slots=True)
class _Row:
    """A prerequisite with the objects that need it."""

    record: Prerequisite
    objects: tuple[Manifest, ...]
    mark: Mark


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
    file = _file(root, options.spec)
    try:
        compiled = compiled_spec(root, file)
    except StageError as error:
        return refused(root, located_errors(root, file, error), [file], options.format)
    chapters = list(_chapters(compiled))
    write_stdout(_json(compiled, chapters) if options.format == "json" else _text(compiled, chapters))
    return 0


def _file(root: Path, spec: str | None) -> str:
    from gpuc.cli.specs import select
    from gpuc.source import cluster_files

    files = select(root, Path.cwd(), [spec] if spec else []) or cluster_files(root)
    if len(files) != 1:
        raise UsageError(
            f"specs/ has {len(files)} clusters; name one of them: {', '.join(Path(x).stem for x in files)}"
        )
    return files[0]


def _chapters(compiled: CompiledSpec) -> Iterator[tuple[Chapter, list[_Row]]]:
    """Yields the chapters of the README with their prerequisites. A thing is in its first chapter only."""
    from gpuc.emit.prerequisites import chapters
    from gpuc.needs import needs_of

    objects: dict[str, dict[str, Manifest]] = {}
    for need in needs_of(compiled.cluster, compiled.artifacts):
        objects.setdefault(need.id, {}).setdefault(f"{need.manifest} {need.manifest.file}", need.manifest)
    listed: set[str] = set()
    for chapter in chapters(compiled.cluster):
        rows = []
        for record in chapter.prerequisites:
            if record.id not in listed:
                listed.add(record.id)
                needing = tuple(objects.get(record.id, {}).values())
                rows.append(_Row(record, needing, compiled.source.locate(record.path)))
        if rows:
            yield chapter, rows


def _text(compiled: CompiledSpec, chapters: list[tuple[Chapter, list[_Row]]]) -> str:
    from gpuc.diagnostics.report.terminal import visible

    count = sum(len(rows) for _, rows in chapters)
    readme = compiled.cluster.entry("README.md")
    lines = [f"{compiled.cluster.name}: {count} prerequisites, in the order of {readme}"]
    for number, (chapter, rows) in enumerate(chapters, 1):
        lines += ["", f"{number}. {chapter.title}"]
        for row in rows:
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


def _json(compiled: CompiledSpec, chapters: list[tuple[Chapter, list[_Row]]]) -> str:
    rows = [_document(chapter, row) for chapter, rows in chapters for row in rows]
    return json.dumps({"cluster": compiled.cluster.name, "prerequisites": rows}, indent=2) + "\n"


def _document(chapter: Chapter, row: _Row) -> Mapping[str, object]:
    record, mark = row.record, row.mark
    objects = [
        {"kind": item.kind, "namespace": item.namespace, "name": item.name, "file": item.file} for item in row.objects
    ]
    return {
        "id": record.id,
        "chapter": chapter.title,
        "what": record.what,
        "reason": record.reason,
        "checks": list(record.checks),
        "expected": record.expected,
        "spec": {"file": mark.file, "line": mark.line, "column": mark.column},
        "objects": objects,
    }
