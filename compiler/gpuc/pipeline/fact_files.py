"""Reads the files in specs/catalog/. A file name or link that leads out of the folder is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, StageError, rule_table
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.documents.fleet_files import CATALOG
from gpuc.extra.files import at_path, visible_entries
from gpuc.source import Source, source_of
from gpuc.source.document import compose
from gpuc.source.encoding import text_of
from gpuc.source.layers import NULL
from gpuc.spec.facts import CatalogFile
from gpuc.spec.parse import parse_as

FOLDER = f"specs/{CATALOG}"
FILES_MAX = 100

rule_of = rule_table(__file__)
BAD_FILE = rule_of("CAT001")


class FactFile(Struct, frozen=True):
    """A file in specs/catalog/ whose keys and values are valid."""

    content: CatalogFile
    source: Source


def read_fact_file(text: str, file: str, findings: list[Finding]) -> FactFile | None:
    """Parses the text of a file in specs/catalog/; returns None if it has errors.

    Args:
        file: the path of the file for the findings.
        findings: the list to which the findings are added.
    """
    node, remarks = compose(text, file)
    findings += remarks
    if node is None or any(finding.is_error for finding in remarks):
        return None
    source = source_of(node, file)
    errors = list(_nulls(source.tree))
    try:
        content = None if errors else parse_as(CatalogFile, source)
    except StageError as error:
        content, errors = None, list(error.findings)
    findings += map(source.located, errors)
    return FactFile(content, source) if content is not None else None


def _nulls(value: Any, path: SpecPath = ()) -> Iterator[Finding]:
    """Yields a finding for each null."""
    if value is None:
        yield NULL.at(path, "the value is missing; write a value or remove the key")
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield from _nulls(child, (*path, step))


def fact_files(root: Path, findings: list[Finding]) -> Iterator[FactFile]:
    """Yields the files in specs/catalog/ of a fleet that have no errors, sorted by name.

    Args:
        root: the folder that contains specs/.
        findings: the list to which the findings are added.
    """
    for file in _paths(root, findings):
        try:
            text, remarks = text_of(root / file, file)
        except StageError as error:
            findings += error.findings
            continue
        findings += remarks
        content = read_fact_file(text, file, findings)
        if content is not None:
            yield content


def _paths(root: Path, findings: list[Finding]) -> Iterator[str]:
    """Yields the YAML files of the folder, sorted. Files whose names begin with a dot and *.md are ignored."""
    folder = root / FOLDER
    if folder.is_symlink() or not folder.is_dir():
        findings.append(_refused(FOLDER, "is not a folder, or is a symbolic link; expected a folder"))
        return
    found = visible_entries(folder, lambda problem: findings.append(_refused(FOLDER, problem)))
    for number, entry in enumerate(found):
        file = f"{FOLDER}/{entry.name}"
        if entry.name.lower().endswith(".md"):
            continue
        if entry.is_symlink() or not entry.is_file():
            findings.append(_refused(file, "is not a file, or is a symbolic link; expected a file"))
        elif not entry.name.endswith((".yaml", ".yml")) or not entry.name.isprintable():
            findings.append(_refused(file, "is no YAML file; expected a file with the suffix .yaml"))
        elif number >= FILES_MAX:
            findings.append(_refused(file, f"is one file too many; at most {FILES_MAX} files are allowed"))
            return
        else:
            yield file


def _refused(path: str, problem: str) -> Finding:
    return at_path(BAD_FILE, (), path, problem)
