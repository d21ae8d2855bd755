"""The findings that users accept: comments `# gpuc: ignore ID reason` in files, and the list in gpuc.yaml.

    lint:
      ignore:
        - {rule: REF090, files: apps/legacy, reason: "replaced in spring", until: 2027-03-31}

`files` is a file, a folder or a pattern, relative to gpuc.yaml; without it, an entry is about all files. `until` is the
last day of the entry.
"""

import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuc.diagnostics.finding import Finding, Mark, find_rule
from gpuc.diagnostics.finding import Path as Steps
from gpuc.diagnostics.suppressions import Ignored
from gpuc.diagnostics.today import today
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.lint import rule_of
from gpuc.lint.load.files import UnreadableError, text_of
from gpuc.objects.object_set import items

ENDED = rule_of("LNT008")
WRONG = rule_of("LNT009")
SETTINGS = "gpuc.yaml"
MARKER = "gpuc:"
"""The text that files with comments have."""
_comment = re.compile(r"(?:^|(?<=\s))#\s*gpuc:\s*ignore\b[ \t]*(\S*)[ \t]*(.*)")
_KEYS = ("rule", "reason", "files", "until")


class Ignores(Struct):
    """The entries of comments or of gpuc.yaml, and the findings about wrong entries."""

    entries: list[Ignored] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def add(self, entry: Ignored, reason: Any) -> None:
        """Adds an entry that names a known rule and a reason, or the finding about what is wrong."""
        if not entry.id:
            self.refuse("the id of the rule is missing", entry.mark)
        elif not find_rule(entry.id):
            self.refuse(f"no rule has the id {entry.id}; `gpuc explain` lists all rules", entry.mark)
        elif not isinstance(reason, str) or not reason.strip():
            self.refuse(f"the reason for ignoring {entry.id} is missing", entry.mark)
        else:
            self.entries.append(entry)

    def refuse(self, message: str, mark: Mark) -> None:
        """Adds a finding about a wrong entry."""
        self.findings.append(WRONG.at((), message, mark=mark))


def comments(file: str, text: str, found: Ignores) -> None:
    """Adds the comments of a file. A comment is about the value on its line, or else on the next line with a value.

    It covers everything below the value, and the complete document if it is before the document's first value.
    """
    lines, path = text.splitlines(), os.path.abspath(file)
    for number, line in enumerate(lines, 1):
        if MARKER in line and (match := _comment.search(line)):
            mark = Mark(file, number, match.start() + 1)
            covered = _covered(lines, number, is_alone=not line[: match.start()].strip())
            found.add(Ignored(match[1], mark, path, os.path.dirname(path), covered), match[2])


def _covered(lines: list[str], number: int, is_alone: bool) -> tuple[int, int]:
    """Returns the first and the last line that a comment on a line covers."""
    start = number
    if is_alone:
        start = next((later for later in range(number, len(lines) + 1) if _has_value(lines[later - 1])), number)
        before = next((line for line in reversed(lines[: number - 1]) if _has_value(line)), "---")
        if before.startswith("---"):
            ends = (later for later in range(start, len(lines) + 1) if lines[later - 1].startswith("---"))
            return start, next((end for end in ends if end > number), len(lines) + 1) - 1
    first = lines[start - 1]
    end = start
    for later, line in enumerate(lines[start:], start + 1):
        if _has_value(line):
            indent, own = _indent(line), _indent(first)
            is_item = line.lstrip().startswith("- ") and not first.lstrip().startswith("- ")
            if line.startswith("---") or indent < own or (indent == own and not is_item):
                break
            end = later
    return start, end


def _has_value(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def settings_file(folder: Path) -> Path | None:
    """Returns the gpuc.yaml of a folder or of its closest parent in the same repository; None if there is none."""
    for parent in (folder, *folder.parents):
        if (parent / SETTINGS).is_file():
            return parent / SETTINGS
        if (parent / ".git").exists():
            break
    return None


def read_settings(path: Path, source: SourceMap) -> Ignores:
    """Returns the entries of gpuc.yaml. An entry whose last day has passed is a finding, and ignores nothing."""
    file, found = os.path.relpath(path), Ignores()
    try:
        text = text_of(str(path))
    except UnreadableError as error:
        found.refuse(str(error), Mark(file, 1, 1))
        return found
    source.add(file, text)
    parsed = read(text, file)
    found.findings += parsed.findings
    for index, data in parsed.documents:
        for steps, message in _unknown_keys(data, index):
            found.refuse(message, source.mark(file, steps, on_key=True))
        lint = data.get("lint") if isinstance(data, dict) else None
        for number, row in items(lint.get("ignore") if isinstance(lint, dict) else None):
            _add_row(found, row, source.mark(file, (index, "lint", "ignore", number)), path.parent.absolute())
    return found


def _unknown_keys(data: Any, index: int) -> Iterator[tuple[Steps, str]]:
    """Yields the path of each wrong level of gpuc.yaml, with a message."""
    for steps, known in (((), "lint"), (("lint",), "ignore")):
        if not isinstance(data, dict):
            yield (index, *steps), f"expected a map with the key {known}"
            return
        yield from (((index, *steps, key), f"unknown key {key}; known: {known}") for key in data if key != known)
        data = data.get(known)
    if not isinstance(data, list):
        yield (index, "lint", "ignore"), "expected a list of maps with the keys " + ", ".join(_KEYS)


def _add_row(found: Ignores, row: Any, mark: Mark, folder: Path) -> None:
    if not isinstance(row, dict) or (unknown := sorted({*row} - {*_KEYS})):
        wrong = f"unknown key {unknown[0]}; known" if isinstance(row, dict) else "expected a map with the keys"
        found.refuse(f"{wrong}: {', '.join(_KEYS)}", mark)
        return
    files, until = row.get("files", "."), row.get("until")
    if not isinstance(files, str):
        found.refuse("files is not a text; expected a file, a folder or a pattern", mark)
        return
    try:
        last = date.fromisoformat(until) if until is not None else date.max
    except (TypeError, ValueError):
        found.refuse(f"until is {until}; expected a date such as 2027-03-31", mark)
        return
    pattern = os.path.normpath(folder / files)
    literal = re.split(r"[*?\[]", pattern)[0]
    scope = pattern if os.path.isdir(pattern) else os.path.dirname(literal)
    if last < today():
        message = f"{row.get('rule')} was ignored until {until}, and this day has passed"
        found.findings.append(ENDED.at((), message, fix="correct the findings, or give a later day", mark=mark))
    else:
        found.add(Ignored(str(row.get("rule") or ""), mark, pattern, scope), row.get("reason"))
