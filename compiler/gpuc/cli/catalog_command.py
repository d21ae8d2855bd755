"""`gpuc catalog`: shows what gpuc knows about hardware and versions, and imports data from the API of a cloud."""

import json

from gpuc.cli.catalog_entries import FAMILIES, SUBJECTS, TYPES, Entry, entries
from gpuc.cli.specs import current_catalog
from gpuc.diagnostics.report.console import print_document, write_stdout
from gpuc.diagnostics.report.document import json_text, picked
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError


def run_catalog(words: list[str], form: str = "text", source: str | None = None) -> int:
    """Runs `gpuc catalog` and returns the exit code: 1 if an import has errors.

    Args:
        words: the arguments, for example ["show", "p5.48xlarge"], or ["import", FILE].
        source: where the imported data comes from; None for the command that prints the data.

    Raises:
        UsageError: for names without an entry in the catalog, and for mistakes in specs/catalog/ of the fleet.
    """
    command, *names = words or [""]
    if command == "import":
        from gpuc.cli.catalog_import import run_import

        if len(names) != 1:
            raise UsageError("gpuc catalog import requires one file, or - for stdin")
        return run_import(names[0], source)
    if command == "show":
        _show(" ".join(names), form)
        return 0
    found = _selected(list(entries(current_catalog())), [word.casefold() for word in words])
    if form == "json":
        rows = [{**picked(row, "subject name summary"), "own": row.is_own} for row in found]
        write_stdout(json_text({"entries": rows}, 1))
        return 0
    for subject, description in SUBJECTS.items():
        lines = [f"{'* '[not row.is_own]} {row.name:28}  {row.summary}" for row in found if row.subject == subject]
        if lines:
            print_document([f"{subject}: {description}", *lines])
    return 0


def _selected(known: list[Entry], words: list[str]) -> list[Entry]:
    """Returns the entries of a subject, or the entries that contain all words.

    Without words, the list has instance families instead of their types.

    Raises:
        UsageError: when no entry contains the words.
    """
    if not words:
        return [entry for entry in known if entry.subject != TYPES]
    if len(words) == 1 and words[0] in SUBJECTS:
        return [entry for entry in known if entry.subject == words[0]]
    found = []
    for entry in known:
        summary = "" if entry.subject == FAMILIES else entry.summary
        text = f"{entry.subject} {entry.name} {summary}".casefold()
        found += [entry] if all(word in text for word in words) else []
    if not found:
        names = [*SUBJECTS, "import", "show", *(entry.name for entry in known)]
        hint = did_you_mean(words[0], names) if len(words) == 1 else ""
        raise UsageError(f"the catalog has no entry with {' '.join(words)}{hint}")
    return found


def _show(name: str, form: str) -> None:
    """Prints all entries with a name. Different subjects can have entries with the same name.

    Raises:
        UsageError: when no entry has the name.
    """
    from gpuc.cli.catalog_details import blocks, details

    if not name:
        raise UsageError("gpuc catalog show requires a name; `gpuc catalog WORD` searches")
    catalog = current_catalog()
    known = list(entries(catalog))
    found = [entry for entry in known if entry.name.casefold() == name.casefold()]
    if not found:
        hint = did_you_mean(name, [entry.name for entry in known])
        raise UsageError(f"the catalog has no entry {name}{hint}; `gpuc catalog WORD` searches")
    if form == "json":
        write_stdout(json.dumps([details(catalog, entry) for entry in found], indent=2) + "\n")
    else:
        for number, entry in enumerate(found):
            print_document([*([""] if number else []), *blocks(catalog, entry)])
