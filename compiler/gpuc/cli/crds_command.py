"""`gpuc crds import`: converts CustomResourceDefinitions to schemas that `gpuc lint --crds` uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuc.cli.arguments import parser_of
from gpuc.cli.options import CrdsOptions
from gpuc.diagnostics.report.console import print_document, write_message
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import read
from gpuc.lint.crds.tables import ImportedTable, imported_tables
from gpuc.lint.load.files import UnreadableError, files_below, text_of
from gpuc.write.filesystem import BusyError, RefusedError, SafeDir

_WAIT_SECONDS = 5.0
_STAGED_SUFFIX = ".gpuc-new"
"""The suffix of a schema file while the import writes the file."""


@dataclass
class _Imported:
    """The schemas that were imported from all files, and messages about definitions that could not be imported."""

    tables: dict[str, ImportedTable] = field(default_factory=dict)
    """The schemas, by the name of the schema file."""
    problems: list[str] = field(default_factory=list)
    """Messages about files and definitions that could not be imported."""
    ignored: int = 0
    """Number of documents that are not CustomResourceDefinitions."""


def run_crds(arguments: list[str]) -> int:
    """Runs `gpuc crds import` and returns the exit code: 1 if a definition could not be imported.

    Raises:
        UsageError: for wrong arguments, and when the files contain no CustomResourceDefinition.
    """
    options: CrdsOptions = parser_of("crds").parse(arguments, CrdsOptions())
    paths, into = options.paths, Path(options.into)
    imported = _Imported()
    for path in paths:
        for file in files_below(path):
            _import_file(Path(file), imported)
    if not imported.tables and not imported.problems:
        raise UsageError(f"no CustomResourceDefinition in {', '.join(paths)}")
    new, changed = _write(imported, into)
    rules = sum(table.rules for table in imported.tables.values())
    count = f"{len(imported.tables)} schemas with {rules} CEL rules in {into}/: {new} new, {changed} changed"
    print_document([count, *_never_evaluated(imported)])
    if imported.ignored:
        print_document([f"{imported.ignored} documents of other kinds were ignored"])
    for problem in imported.problems:
        write_message(problem)
    return int(bool(imported.problems))


def _never_evaluated(imported: _Imported) -> Iterator[str]:
    """Yields the number of CEL rules that lint cannot evaluate, then a line for each of these rules."""
    if not any(table.rules for table in imported.tables.values()):
        return
    from gpuc.lint.crds.cel_rules import never_evaluated

    lines = [
        f"  {table.file.removesuffix('.json')}: {rule['rule'].strip()}: {why}"
        for table in imported.tables.values()
        for rule in table.all_rules()
        if (why := never_evaluated(rule))
    ]
    if lines:
        yield f"lint will not evaluate {len(lines)} of the rules:"
        yield from lines


def _import_file(file: Path, imported: _Imported) -> None:
    try:
        text = text_of(str(file))
    except UnreadableError as error:
        imported.problems.append(f"{file} cannot be read: {error}")
        return
    documents = read(text, str(file))
    hint = "; render templates present the import" if "{{" in text else ""
    imported.problems += [f"{finding.mark}: {finding.message}{hint}" for finding in documents.findings]
    for _, document in documents.documents:
        for definition in _objects(document):
            if not isinstance(definition, dict) or definition.get("kind") != "CustomResourceDefinition":
                imported.ignored += 1
                continue
            try:
                for table in imported_tables(definition):
                    _add(table, file, imported)
            except (ValueError, RecursionError) as error:
                imported.problems.append(f"{file}: {_definition_name(definition)}: {error}")


def _add(table: ImportedTable, file: Path, imported: _Imported) -> None:
    earlier = imported.tables.get(table.file)
    if earlier is not None and earlier.text != table.text:
        imported.problems.append(
            f"{file}: {table.file} differs from an earlier definition; gpuc uses the later definition"
        )
    imported.tables[table.file] = table


def _objects(document: Any) -> list[Any]:
    """Returns the objects of a document: the items of a List, as `kubectl get -o yaml` prints it, or the document."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list):
        defaults = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
        is_typed = kind != "List"
        return [{**defaults, **item} if isinstance(item, dict) and is_typed else item for item in document["items"]]
    return [document]


def _definition_name(definition: dict[str, Any]) -> str:
    metadata = definition.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else "a CustomResourceDefinition without a name"


def _write(imported: _Imported, into: Path) -> tuple[int, int]:
    """Writes all schemas, and returns the number of new files and the number of changed files.

    All files are first written under temporary names and then renamed, so that no file is ever incomplete.

    Raises:
        UsageError: when the folder cannot be written, or another import has locked the folder. Every file then has its
            complete old content or its complete new content.
    """
    try:
        into.mkdir(parents=True, exist_ok=True)
        with SafeDir(into) as folder, folder.locked(".", _WAIT_SECONDS):
            return _replace(folder, {name: table.text.encode() for name, table in imported.tables.items()})
    except BusyError:
        raise UsageError(f"another import is writing to {into}") from None
    except RefusedError as error:
        raise UsageError(f"{into} cannot be written: {error}") from error
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error.strerror}") from error


def _replace(folder: SafeDir, texts: dict[str, bytes]) -> tuple[int, int]:
    """Replaces the files whose text changes, and returns the number of new files and the number of changed files.

    Temporary files of an import that was killed are removed.
    """
    _remove_staged(folder)
    present = {name: folder.read(name) for name in sorted(texts)}
    staged = {f"{number}{_STAGED_SUFFIX}": name for number, name in enumerate(present) if present[name] != texts[name]}
    try:
        for temporary, name in staged.items():
            folder.create(temporary, texts[name])
        folder.sync(staged)
        for temporary, name in staged.items():
            folder.rename(temporary, name)
    finally:
        with suppress(OSError):
            _remove_staged(folder)
    new = sum(present[name] is None for name in staged.values())
    return new, len(staged) - new


def _remove_staged(folder: SafeDir) -> None:
    for name, is_folder in folder.entries("."):
        if name.endswith(_STAGED_SUFFIX) and not is_folder:
            folder.remove(name)
