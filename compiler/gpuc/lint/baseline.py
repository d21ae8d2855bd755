"""Baselines of `gpuc lint`: a file with the findings that a team knows already, so that a run reports only new ones.

    {"format": 1, "gpuc": "0.1.0", "findings": [
    {"fingerprint": "0123456789abcdef:1", "id": "REF090", "file": "apps/a.yaml", "message": "..."}]}

Only the fingerprints count; the other keys are for people.
"""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuc import __version__
from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.report.fingerprints import fingerprints, in_repository
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.usage import UsageError
from gpuc.diagnostics.words import counted
from gpuc.documents.reader import mark_at, read
from gpuc.documents.source_map import SourceMap
from gpuc.lint.load.files import UnreadableError, text_of
from gpuc.objects.object_set import dig, items

FORMAT = 1


class Baseline(Struct, frozen=True):
    """The known findings."""

    file: str
    version: str
    """The version of gpuc that wrote the file."""
    known: frozenset[str]
    """Fingerprints."""


def read_baseline(file: Path) -> Baseline:
    """Reads a baseline.

    Raises:
        UsageError: when the file is no baseline, or has another format. The message has the line.
    """
    try:
        text = text_of(str(file))
    except UnreadableError as error:
        raise UsageError(f"{file}: {error}") from None
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        found = read(text, str(file)).findings
        mark = found[0].mark if found else mark_at(text, getattr(error, "pos", 0), str(file))
        raise UsageError(f"{mark}: not a baseline, which is JSON: {found[0].message if found else error}") from None
    if (form := dig(data, "format")) != FORMAT:
        position = _position(file, text, ("format",))
        what = f"a baseline of format {form}" if form is not None else "not a baseline, the key format is missing"
        raise UsageError(f"{position}: {what}; this version of gpuc reads format {FORMAT}: write it again")
    known = [dig(row, "fingerprint") for _, row in items(data.get("findings"))]
    if not isinstance(data.get("findings"), list) or not all(isinstance(value, str) for value in known):
        wrong = next((number for number, value in enumerate(known) if not isinstance(value, str)), 0)
        position = _position(file, text, ("findings", wrong))
        raise UsageError(f"{position}: not a finding of a baseline; expected a map with a fingerprint")
    return Baseline(str(file), str(data.get("gpuc")), frozenset(known))


def _position(file: Path, text: str, path: tuple[str | int, ...]) -> str:
    source = SourceMap()
    source.add(str(file), text)
    return str(source.mark(str(file), (0, *path), on_key=True))


def new_findings(baseline: Baseline, findings: list[Finding], prefix: str) -> tuple[list[Finding], str]:
    """Returns the findings that a baseline does not have, and a sentence with the numbers of the others."""
    rows = Report(tuple(findings)).rows
    prints = fingerprints(rows, prefix)
    new = [row.finding for row, own in zip(rows, prints, strict=True) if own not in baseline.known]
    gone = len(baseline.known.difference(prints))
    sentence = f"{counted(len(rows) - len(new), 'finding')} of the baseline {baseline.file} hidden"
    sentence += f"; {gone} of its findings no longer occur" if gone else ""
    other = f"; gpuc {baseline.version} wrote it, and messages may differ" if baseline.version != __version__ else ""
    return new, sentence + other


def write_baseline(file: Path, findings: list[Finding], prefix: str) -> str:
    """Writes all findings into a baseline, one on each line, and returns a sentence about it.

    Raises:
        UsageError: when the file cannot be written.
    """
    rows = Report(tuple(findings)).rows
    lines = []
    for row, own in zip(rows, fingerprints(rows, prefix), strict=True):
        place = in_repository(row.finding.mark.file, prefix) if row.finding.mark else ""
        entry = {"fingerprint": own, "id": row.finding.id, "file": place, "message": row.finding.message}
        lines.append(json.dumps(entry))
    head = f'{{"format": {FORMAT}, "gpuc": "{__version__}", "findings": ['
    try:
        file.write_text(head + ",".join(f"\n{line}" for line in lines) + "]}\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    return f"{counted(len(rows), 'finding')} written to {file}; `--baseline {file}` reports only new ones"
