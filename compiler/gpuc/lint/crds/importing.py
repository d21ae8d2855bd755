"""Reads CustomResourceDefinitions from files, and writes their schemas to files that `gpuc lint` reads."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import read
from gpuc.lint.crds.tables import ImportedTable, imported_tables
from gpuc.lint.load.files import UnreadableError, files_below, text_of
from gpuc.lint.load.loaded_files import objects_of
from gpuc.objects.object_set import dig
from gpuc.write.filesystem import BusyError, RefusedError, SafeDir

_WAIT_SECONDS = 5.0
_STAGED_SUFFIX = ".gpuc-new"
"""The suffix of a schema file while the import writes the file."""


class Imported(Struct):
    """The schemas that were imported from all files, and messages about definitions that could not be imported."""

    tables: dict[str, ImportedTable] = field(default_factory=dict)
    """The schemas, by the name of the schema file."""
    problems: list[str] = field(default_factory=list)
    """Messages about files and definitions that could not be imported."""
    ignored: int = 0
    """Number of documents that are not CustomResourceDefinitions."""


def imported_from(paths: Iterable[str]) -> Imported:
    """Returns the schemas of all CustomResourceDefinitions in files and folders."""
    imported = Imported()
    for path in paths:
        for file in files_below(path):
            _import_file(Path(file), imported)
    return imported


def _import_file(file: Path, imported: Imported) -> None:
    try:
        text = text_of(str(file))
    except UnreadableError as error:
        imported.problems.append(f"{file} cannot be read: {error}")
        return
    documents = read(text, str(file))
    hint = "; render templates present the import" if "{{" in text else ""
    imported.problems += [f"{finding.mark}: {finding.message}{hint}" for finding in documents.findings]
    for _, document in documents.documents:
        for _, definition in objects_of(document):
            if not isinstance(definition, dict) or definition.get("kind") != "CustomResourceDefinition":
                imported.ignored += 1
                continue
            try:
                for table in imported_tables(definition):
                    _add(table, file, imported)
            except (ValueError, RecursionError) as error:
                name = dig(definition, "metadata", "name")
                name = name if isinstance(name, str) else "a CustomResourceDefinition without a name"
                imported.problems.append(f"{file}: {name}: {error}")


def _add(table: ImportedTable, file: Path, imported: Imported) -> None:
    earlier = imported.tables.get(table.file)
    if earlier is not None and earlier.text != table.text:
        imported.problems.append(
            f"{file}: {table.file} differs from an earlier definition; gpuc uses the later definition"
        )
    imported.tables[table.file] = table


def write_tables(imported: Imported, into: Path) -> tuple[int, int]:
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
