"""`gpuc crds import`: converts CustomResourceDefinitions into schemas for `gpuc lint --crds`."""

from collections.abc import Iterator
from pathlib import Path

from gpuc.diagnostics.report.console import write_message, write_stdout
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.crds.importing import Imported, imported_from, write_tables


def run_crds(command: str, files: list[str], into: Path = Path("crds")) -> int:
    """Converts the definitions in files and folders. Returns the exit code: 1 if gpuc could not convert one of them.

    Args:
        command: import, the only command.
        into: the folder for the schemas.

    Raises:
        UsageError: when the files contain no CustomResourceDefinition.
    """
    assert command == "import"
    imported = imported_from(files)
    if not imported.tables and not imported.problems:
        raise UsageError(f"no CustomResourceDefinition in {', '.join(files)}")
    new, changed = write_tables(imported, into)
    rules = sum(table.rules for table in imported.tables.values())
    write_stdout(f"{len(imported.tables)} schemas with {rules} CEL rules in {into}/: {new} new, {changed} changed\n")
    for line in _never_evaluated(imported):
        write_stdout(f"{line}\n")
    if imported.ignored:
        write_stdout(f"{imported.ignored} documents of other kinds were ignored\n")
    for problem in imported.problems:
        write_message(problem)
    return int(bool(imported.problems))


def _never_evaluated(imported: Imported) -> Iterator[str]:
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
