"""`gpuc fix`: moves fields in specs and layers whose path in the spec language has changed."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from gpuc.cli.reports import refused
from gpuc.cli.specs import selected
from gpuc.diagnostics.finding import Finding, Mark
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.words import counted, first_names
from gpuc.source.document import compose
from gpuc.source.layers import KIND, METADATA, NAME, OUTSIDE, VERSION, Layers, is_within
from gpuc.source.relocation import free_moves, relocated
from gpuc.write.filesystem import RefusedError, SafeDir

_BOM = b"\xef\xbb\xbf"
_NAMED_FIELDS = 3
"""The largest number of fields in a line of the report."""
_OF_CHECK = (KIND.id, VERSION.id, METADATA.id, NAME.id)
"""Findings with which `gpuc fix` can still change a file. `gpuc check` reports these findings."""


class _Result(Struct, frozen=True):
    """What happened to a file."""

    file: str
    moved: int = 0
    """The number of fields that are at their new places now."""
    reason: str = ""
    """The reason why the file was left alone; empty for a file that was changed or is up to date."""


def run_fix(specs: Sequence[str]) -> int:
    """Changes the specs and their layers, prints what has changed, and returns the exit code.

    Raises:
        UsageError: outside of a fleet, when a path is not a file below specs/, or a cluster does not exist.
    """
    root, named = selected(specs)
    with SafeDir(root) as folder:
        results = [_fixed(folder, file) for file in _read(root, named)[0]]
    findings = _read(root, named)[1]  # read again, because the lines of the files have moved
    write_stdout("".join(f"{line}\n" for result in results for line in _lines(result)))
    if findings:
        refused(root, findings, [Path(file).stem for file in named])
    write_stdout(_totals(results, findings) + "\n")
    return int(bool(findings) or any(result.reason for result in results))


def _read(root: Path, named: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """Returns the spec and layer files that contain a document, each once, and the errors that prevent a change."""
    files: set[str] = set()
    findings: dict[Finding, None] = {}
    for file in named:
        if not is_within(root / file, root / "specs"):
            findings[OUTSIDE.at((), f"{file} is outside of specs/", mark=Mark(file, 1, 1))] = None
            continue
        layers = Layers(root)
        layers.read(file)
        files.update(layers.order)
        findings |= {found: None for found in layers.findings if found.is_error and found.id not in _OF_CHECK}
    return sorted(files), list(findings)


def _fixed(folder: SafeDir, file: str) -> _Result:
    try:
        before = folder.read(file)
        if before is None:
            return _Result(file, reason="the file does not exist any more")
        bom = _BOM if before.startswith(_BOM) else b""
        text = before[len(bom) :].decode()
        document = compose(text, file)[0]
        found = free_moves(document) if document else []
        if not found:
            return _Result(file)
        after = relocated(text, file)
        if after is None:
            names = first_names([".".join(map(str, move.old[1:])) for move in found], _NAMED_FIELDS)
            return _Result(file, reason=f"gpuc cannot keep its layout; move {names} by hand")
        if not folder.replace(file, before, bom + after.encode()):
            return _Result(file, reason="the file was changed at the same time; run gpuc fix again")
    except RefusedError as error:
        return _Result(file, reason=f"the file {error.reason}" if error.path == file else str(error))
    except (OSError, UnicodeDecodeError) as error:
        return _Result(file, reason=f"the file cannot be written: {getattr(error, 'strerror', None) or error}")
    return _Result(file, len(found))


def _lines(result: _Result) -> list[str]:
    if result.reason:
        return [f"{result.file} was left alone: {result.reason}"]
    return [f"{result.file}: {counted(result.moved, 'field')} moved"] if result.moved else []


def _totals(results: Sequence[_Result], findings: Sequence[Finding]) -> str:
    changed = [result for result in results if result.moved]
    alone = [result for result in results if result.reason]
    errors = {found.mark.file for found in findings if found.mark}
    if not changed and not alone and not errors:
        return f"{counted(len(results), 'file')}: all fields are at their new places"
    fields = counted(sum(result.moved for result in changed), "field")
    parts = [f"{len(changed)} changed with {fields} moved"] if changed else ["none changed"]
    parts += [f"{len(alone)} left alone"] * bool(alone)
    parts += [f"{len(errors)} with errors"] * bool(errors)
    return f"{counted(len({result.file for result in results} | errors), 'file')}: {', '.join(parts)}"
