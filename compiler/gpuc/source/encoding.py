"""Reads the text of a file. Checks its size, and that it is UTF-8 without invisible characters."""

import pathlib
import re
from itertools import islice
from typing import NoReturn

from gpuc.diagnostics.finding import Finding, Mark, Related, StageError, rule_table
from gpuc.documents.reader import mark_at

SIZE_LIMIT_BYTES = 1 << 20
LINE_LIMIT = 1 << 16
_MAX_FINDINGS = 10

rule_of = rule_table(__file__)
BOM = rule_of("YAML014")
NOT_UTF8 = rule_of("YAML015")
INVISIBLE = rule_of("YAML016")
TOO_LARGE = rule_of("YAML019")
UNREADABLE = rule_of("YAML022")
CONFLICT = rule_of("YAML023")

_invisible = re.compile(
    "[\0-\b\v\f\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff]"
)

_conflict_marker = re.compile(r"^(<{7}|>{7}|\|{7}|={7})(?= |\r?$)", re.MULTILINE)
_MARKERS = {
    "<": "another conflict begins here",
    "|": "the lines before both changes begin here",
    "=": "the lines of the other side begin here",
    ">": "the conflict ends here",
}


def text_of(path: pathlib.Path, file: str) -> tuple[str, list[Finding]]:
    """Reads a file. Returns its text without a byte order mark, and findings that are not errors.

    Args:
        file: the name of the file in findings.

    Raises:
        StageError: when the file cannot be read, is too large, is not UTF-8 or contains invisible characters.
    """
    start = Mark(file, 1, 1)
    data = _bytes(path, start)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        _not_utf8("the file is UTF-16 or UTF-32, not UTF-8", start)
    remarks = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        fix = "save the file without the byte order mark"
        remarks.append(BOM.at((), "the file begins with a byte order mark", fix=fix, mark=start))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        mark = mark_at(data[: error.start].decode(), error.start, file)
        _not_utf8(f"byte 0x{data[error.start]:02X} at offset {error.start} is not UTF-8", mark)
    errors = [
        _invisible_character(match[0], mark_at(text, match.start(), file))
        for match in islice(_invisible.finditer(text), _MAX_FINDINGS)
    ]
    if text.startswith("<<<<<<< ") or "\n<<<<<<< " in text:
        errors += _conflict(text, file)
    errors += [
        TOO_LARGE.at((), f"the line has more than {LINE_LIMIT} characters", mark=Mark(file, number, 1))
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE_LIMIT
    ]
    if errors:
        raise StageError([*remarks, *errors])
    return text, remarks


def _invisible_character(character: str, mark: Mark) -> Finding:
    from gpuc.source.typography import name_of  # imported here, because a correct spec has no such character

    name = name_of(character)
    return INVISIBLE.at((), f"the character {name} is invisible", fix=f"remove U+{ord(character):04X}", mark=mark)


def _conflict(text: str, file: str) -> list[Finding]:
    """Returns one finding for all conflicts in the text, at the first marker."""
    markers = islice(_conflict_marker.finditer(text, text.find("<<<<<<< ")), _MAX_FINDINGS)
    marks = [(match[1], mark_at(text, match.start(), file)) for match in markers]
    related = [Related(_MARKERS[sign[0]], mark=mark) for sign, mark in marks[1:]]
    message = "the file has an unresolved Git conflict, which begins here"
    fix = "keep the lines of one side, or combine both sides, and remove the lines with <<<<<<<, ======= and >>>>>>>"
    return [CONFLICT.at((), message, fix=fix, mark=marks[0][1], related=related)]


def _bytes(path: pathlib.Path, start: Mark) -> bytes:
    try:
        if path.is_dir():
            raise StageError([UNREADABLE.at((), f"{start.file} is a folder", mark=start)])
        if path.exists() and not path.is_file():
            raise StageError([UNREADABLE.at((), f"{start.file} is not a regular file", mark=start)])
        with path.open("rb") as stream:
            data = stream.read(SIZE_LIMIT_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise StageError([UNREADABLE.at((), f"{start.file} cannot be read: {reason}", mark=start)]) from None
    if len(data) > SIZE_LIMIT_BYTES:
        raise StageError([TOO_LARGE.at((), f"{start.file} is larger than {SIZE_LIMIT_BYTES >> 20} MiB", mark=start)])
    return data


def _not_utf8(message: str, mark: Mark) -> NoReturn:
    raise StageError([NOT_UTF8.at((), message, fix="save the file as UTF-8", mark=mark)]) from None
