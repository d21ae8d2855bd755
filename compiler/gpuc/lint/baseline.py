"""Baselines of `gpuc lint`: a baseline is a file with known findings, so that a later run reports only new findings.

    {"format": 1, "gpuc": "0.1.0", "findings": [
    {"fingerprint": "0123456789abcdef:1", "id": "REF090", "file": "apps/a.yaml", "message": "..."}]}

gpuc compares only the fingerprints. The other keys are for readers of the file.
"""

import json
from pathlib import Path
from typing import Literal

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import decode

from gpuc import __version__
from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.report.fingerprints import fingerprints, in_repository
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.usage import UsageError
from gpuc.diagnostics.words import counted
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.lint.load.files import UnreadableError, text_of

FORMAT = 1


class _Known(Struct):
    fingerprint: str


class _Baseline(Struct):
    """The content of the file of a baseline. gpuc does not read other keys of the file."""

    format: Literal[1]
    gpuc: str
    """The version of gpuc that wrote the file."""
    findings: list[_Known]


def _read(path: Path) -> _Baseline:
    file, source = str(path), SourceMap()
    try:
        source.add(file, text_of(file))
        return decode(source.text(file), type=_Baseline)
    except UnreadableError as error:
        raise UsageError(f"{file}: {error}") from None
    except ValidationError as error:
        message, mark = source.located(error, file, (0,))
        raise UsageError(f"{mark}: not a baseline of format {FORMAT}: {message}; write it again") from None
    except (DecodeError, RecursionError) as error:
        broken = next((f"{row.mark}: {row.message}" for row in read(source.text(file), file).findings), "")
        raise UsageError(f"{broken or f'{file}:1:1: {error}'}; a baseline is JSON") from None


def new_findings(file: Path, findings: list[Finding], prefix: str) -> tuple[list[Finding], str]:
    """Returns the findings that are not in a baseline, and a sentence about the findings that are hidden or gone.

    Raises:
        UsageError: when the file is no baseline, or has another format. The message has the line.
    """
    baseline, rows = _read(file), Report(tuple(findings)).rows
    prints = fingerprints(rows, prefix)
    known = {row.fingerprint for row in baseline.findings}
    new = [row.finding for row, own in zip(rows, prints, strict=True) if own not in known]
    gone = len(known.difference(prints))
    sentence = f"{counted(len(rows) - len(new), 'finding')} of the baseline {file} hidden"
    sentence += f"; {gone} of its findings no longer occur" if gone else ""
    other = f"; gpuc {baseline.gpuc} wrote it, and messages may differ" if baseline.gpuc != __version__ else ""
    return new, sentence + other


def written(file: Path, findings: list[Finding], prefix: str) -> str:
    """Writes findings to a baseline file, one finding on each line, and returns a sentence about the file.

    Raises:
        UsageError: when the file cannot be written.
    """
    rows, lines = Report(tuple(findings)).rows, []
    for row, own in zip(rows, fingerprints(rows, prefix), strict=True):
        place = in_repository(row.finding.mark.file, prefix) if row.finding.mark else ""
        entry = {"fingerprint": own, "id": row.finding.id, "file": place, "message": row.finding.message}
        lines.append(f"\n{json.dumps(entry)}")
    head = f'{{"format": {FORMAT}, "gpuc": "{__version__}", "findings": ['
    try:
        file.write_text(f"{head}{','.join(lines)}]}}\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    return f"{counted(len(rows), 'finding')} written to {file}; `--baseline {file}` reports only new ones"
