"""`gpuc catalog`: lists and shows what gpuc knows, and converts the output of the EC2 API to rows of a fleet."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby

from gpuc.catalog import Catalog
from gpuc.cli.catalog_entries import FAMILIES, SUBJECTS, TYPES, Entry, entries
from gpuc.diagnostics.report.console import print_document, write_stdout
from gpuc.diagnostics.report.document import json_text, picked
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError


def run_catalog(arguments: list[str]) -> int:
    """Runs `gpuc catalog` and returns the exit code: 1 if an import has errors.

    Raises:
        UsageError: for wrong arguments, for words without an entry, and for wrong rows of the fleet.
    """
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.options import CatalogOptions
    from gpuc.cli.specs import current_catalog

    options: CatalogOptions = parser_of("catalog").parse(arguments, CatalogOptions())
    command, *names = options.words or [""]
    if command == "import":
        from gpuc.cli.catalog_import import run_import

        if len(names) != 1:
            raise UsageError("gpuc catalog import requires one file, or - for stdin")
        return run_import(names[0], options.source)
    catalog = current_catalog()
    if command == "show":
        _show(catalog, " ".join(names), options.format)
    else:
        _list(catalog, options.words, options.format)
    return 0


def _list(catalog: Catalog, words: list[str], form: str) -> None:
    found = _selected(catalog, [word.casefold() for word in words])
    if form == "json":
        rows = [{**picked(entry, "subject name summary"), "own": entry.is_own} for entry in found]
        write_stdout(json_text({"entries": rows}, 1))
        return
    for subject, group in groupby(found, lambda entry: entry.subject):
        lines = (f"{'*' if entry.is_own else ' '} {entry.name:28}  {entry.summary}" for entry in group)
        print_document([f"{subject}: {SUBJECTS[subject]}", *lines])


def _selected(catalog: Catalog, words: list[str]) -> list[Entry]:
    """Returns the entries of a subject, or those that contain all words. Without words, types are only in families.

    Raises:
        UsageError: when no entry contains the words.
    """
    known = list(entries(catalog))
    if not words:
        return [entry for entry in known if entry.subject != TYPES]
    if len(words) == 1 and words[0] in SUBJECTS:
        return [entry for entry in known if entry.subject == words[0]]
    found = [entry for entry in known if all(word in _text(entry) for word in words)]
    if not found:
        hint = did_you_mean(words[0], [*SUBJECTS, "import", "show", *_names(known)]) if len(words) == 1 else ""
        raise UsageError(f"the catalog has no entry with {' '.join(words)}{hint}")
    return found


def _text(entry: Entry) -> str:
    summary = "" if entry.subject == FAMILIES else entry.summary
    return f"{entry.subject} {entry.name} {summary}".casefold()


def _names(known: Iterable[Entry]) -> list[str]:
    return [entry.name for entry in known]


def _show(catalog: Catalog, name: str, form: str) -> None:
    """Prints all entries with a name. Different subjects can have entries with the same name.

    Raises:
        UsageError: when no entry has the name.
    """
    from gpuc.cli.catalog_details import blocks, details

    if not name:
        raise UsageError("gpuc catalog show requires a name; `gpuc catalog WORD` searches")
    known = list(entries(catalog))
    found = [entry for entry in known if entry.name.casefold() == name.casefold()]
    if not found:
        hint = did_you_mean(name, _names(known))
        raise UsageError(f"the catalog has no entry {name}{hint}; `gpuc catalog WORD` searches")
    if form == "json":
        write_stdout(json.dumps([details(catalog, entry) for entry in found], indent=2) + "\n")
    else:
        for number, entry in enumerate(found):
            print_document([*([""] if number else []), *blocks(catalog, entry)])
