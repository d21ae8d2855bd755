"""The findings that users accept: comments `# gpuc: ignore ID reason` in files, and a list in gpuc.yaml."""

import os
import re
from collections.abc import Mapping
from datetime import date
from itertools import takewhile
from pathlib import Path

from msgspec import Struct, ValidationError, convert, field

from gpuc.diagnostics.finding import Finding, Mark, find_rule
from gpuc.diagnostics.suppressions import Ignored
from gpuc.diagnostics.today import today
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.lint import rule_of
from gpuc.lint.load.files import UnreadableError, text_of
from gpuc.objects.object_set import dig, items

ENDED = rule_of("LNT008")
WRONG = rule_of("LNT009")
_comment = re.compile(r"(?:^|(?<=\s))#\s*gpuc:\s*ignore\b[ \t]*(\S*)[ \t]*(.*)")


class _Entry(Struct, forbid_unknown_fields=True):
    """An entry of the list in gpuc.yaml."""

    rule: str
    reason: str
    files: str = "."
    """A file, a folder or a pattern, relative to gpuc.yaml."""
    until: date | None = None
    """The last day of the entry."""


class Ignores(Struct):
    """The entries with which users accept findings, and the findings about wrong entries."""

    entries: list[Ignored] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def add(self, entry: Ignored, reason: str) -> None:
        """Adds an entry that accepts findings; or a finding about the entry, if it lacks a known rule or a reason."""
        if not find_rule(entry.id):
            what = f"no rule has the id {entry.id}; `gpuc explain` lists all rules"
            self.refuse(what if entry.id else "the id of the rule is missing", entry.mark)
        elif not reason.strip():
            self.refuse(f"the reason for ignoring {entry.id} is missing", entry.mark)
        else:
            self.entries.append(entry)

    def refuse(self, message: str, mark: Mark) -> None:
        """Adds a finding about an entry that is wrong, and therefore accepts no findings."""
        self.findings.append(WRONG.at((), message, mark=mark))


def comments(texts: Mapping[str, str]) -> Ignores:
    """Returns the comments in files that accept findings.

    A comment applies to the value on its line, or else on the next line with a value, and to everything below this
    value. A comment before the first value of a document applies to the complete document.
    """
    found = Ignores()
    for file, text in texts.items():
        lines, path = text.splitlines(), os.path.abspath(file)
        for number, line in enumerate(lines, 1):
            if match := _comment.search(line):
                covered = _covered(lines, number - 1, is_alone=not line[: match.start()].strip())
                mark = Mark(file, number, match.start() + 1)
                found.add(Ignored(match[1], mark, path, os.path.dirname(path), covered), match[2])
    return found


def _covered(lines: list[str], at: int, is_alone: bool) -> tuple[int, int]:
    """Returns the first and the last line that the comment with an index covers, both from 1."""
    first = next((index for index in range(at, len(lines)) if not is_alone or _has_value(lines[index])), at)
    above = next((line for line in reversed(lines[:at]) if _has_value(line)), "---")
    below = takewhile(lambda line: not line.startswith("---"), lines[first + 1 :])
    if not (is_alone and above.startswith("---")):
        indent, is_item = _indent(lines[first]), lines[first].lstrip().startswith("- ")
        below = takewhile(
            lambda line: (
                not _has_value(line)
                or _indent(line) > indent
                or (_indent(line) == indent and not is_item and line.lstrip().startswith("- "))
            ),
            below,
        )
    return first + 1, first + 1 + sum(1 for _ in below)


def _has_value(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def read_settings(path: Path, source: SourceMap) -> Ignores:
    """Returns the entries of gpuc.yaml. An entry whose last day has passed is a finding, and accepts nothing."""
    file, found = os.path.relpath(path), Ignores()
    try:
        source.add(file, text_of(str(path)))
    except UnreadableError as error:
        found.refuse(str(error), Mark(file, 1, 1))
    parsed = read(source.text(file), file)
    found.findings += parsed.findings
    for index, data in parsed.documents:
        rows = dig(data, "lint", "ignore")
        if not isinstance(rows, list):
            found.refuse("expected lint: {ignore: [...]}, a list of maps", source.mark(file, (index,)))
        for number, row in items(rows):
            steps = (index, "lint", "ignore", number)
            try:
                _add_entry(found, convert(row, _Entry), source.mark(file, steps), path.parent.absolute())
            except ValidationError as error:
                found.refuse(*source.located(error, file, steps))
    return found


def _add_entry(found: Ignores, entry: _Entry, mark: Mark, folder: Path) -> None:
    pattern = os.path.normpath(folder / entry.files)
    scope = pattern if os.path.isdir(pattern) else os.path.dirname(re.split(r"[*?\[]", pattern)[0])
    if entry.until and entry.until < today():
        message = f"{entry.rule} was ignored until {entry.until}, and this day has passed"
        found.findings.append(ENDED.at((), message, fix="correct the findings, or give a later day", mark=mark))
    else:
        found.add(Ignored(entry.rule, mark, pattern, scope), entry.reason)
