"""Applies the edits of a case to a copy of the fleet, and runs `gpuc check` there."""

import contextlib
import io
import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from ruamel.yaml import YAML
from yaml import CSafeLoader

from gpuc.cli.main import main

HERE = Path(__file__).parent
FLEET = HERE / "fleet"
CASES = HERE / "breaks.yaml"
SPEC = "specs/orion.yaml"
"""The file that an edit changes, unless the edit names another file."""
ENVIRONMENT = {"COLUMNS": "120", "NO_COLOR": "1", "SOURCE_DATE_EPOCH": "1796083200"}
"""A terminal without colours, on 2026-12-01: the fleet has a capacity block, which ends."""


@dataclass(frozen=True)
class Case:
    """A spec, and the answer to it."""

    number: str
    what: str
    before: str
    edits: tuple[dict[str, str], ...]
    command: tuple[str, ...] = ("check",)
    """The command and its arguments."""
    accepted: str = ""
    """Why the spec is not wrong. Empty for a wrong spec."""
    exit: int = -1
    answer: str = ""


@cache
def cases() -> tuple[Case, ...]:
    """All cases, in the order of the file."""
    loaded = yaml.load(CASES.read_text(encoding="utf-8"), CSafeLoader)
    return tuple(Case(**{key: _frozen(value) for key, value in entry.items()}) for entry in loaded)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def place(case: Case, folder: Path) -> None:
    """Writes the fleet of a case into a folder that does not exist yet."""
    shutil.copytree(FLEET, folder)
    for edit in case.edits:
        apply(edit, folder)


def apply(edit: dict[str, str], folder: Path) -> None:
    """Changes one file of a fleet.

    Raises:
        ValueError: when the file does not contain the text of the edit exactly once, or no operation is known.
    """
    file = folder / edit.get("file", SPEC)
    if "copy" in edit:
        shutil.copy(file, folder / edit["copy"])
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_bytes().decode() if file.exists() else ""
    file.write_bytes(_edited(text, edit).encode())


def _edited(text: str, edit: dict[str, str]) -> str:
    match edit:
        case {"replace": old, "with": new}:
            return _replaced(text, old, new)
        case {"cut": [start, end]}:
            _, found, rest = text.partition(start)
            removed, until, _ = rest.partition(end)
            if not until:
                raise ValueError(f"{start!r} and {end!r} do not follow each other in the file")
            return _replaced(text, found + removed, edit.get("with", ""))
        case {"content": content}:
            return content
        case {"append": end}:
            return text + end
        case {"prepend": start}:
            return start + text
        case {"newlines": newline}:
            return text.replace("\n", newline)
    raise ValueError(f"unknown edit: {', '.join(edit)}")


def _replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise ValueError(f"the file contains {old!r} {text.count(old)} times; expected 1")
    return text.replace(old, new)


def answer(case: Case, folder: Path) -> tuple[int, str]:
    """Runs the command of the case in the folder; returns the exit code and the printed text."""
    printed = io.StringIO()
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, ENVIRONMENT),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        code = main(case.command)
    return code, printed.getvalue()


def entries() -> tuple[YAML, Any]:
    """The file of the cases as it is, for a change of some values, and the YAML that writes it."""
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    editor.indent(mapping=2, sequence=2, offset=0)
    return editor, editor.load(CASES.read_text(encoding="utf-8"))
