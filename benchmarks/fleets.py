"""Temporary fleets of copied example specs."""

import re
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

_MOST_NODES = re.compile(r"(nodes: \{max: )(\d+)")
_FIRST_INSTANCE = re.compile(r"(instances: \[[\w.-]+)")


def copy_fleet(repository: Path, to: Path) -> Path:
    """Copies the specs of the repository into a new folder, without output, and returns the folder."""
    shutil.copytree(repository / "specs", to / "specs")
    return to


def emptying(folder: Path) -> Callable[[], None]:
    """Returns a function that deletes and recreates the folder."""

    def empty() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    return empty


def editing(spec: Path) -> Callable[[], None]:
    """Returns a function that edits the spec: each call changes the size of the first pool between two values."""
    text = spec.read_text(encoding="utf-8")
    larger = _replaced(_MOST_NODES, lambda match: f"{match[1]}{int(match[2]) + 1}", text)
    texts = cycle((larger, text))
    return lambda: _write(spec, next(texts))


def break_instance(spec: Path) -> None:
    """Misspells the first instance type of the spec, so that the compile stops with an error."""
    text = spec.read_text(encoding="utf-8")
    _write(spec, _replaced(_FIRST_INSTANCE, lambda match: f"{match[1]}x", text))


def multiply(spec: Path, count: int) -> None:
    """Replaces the specs of the fleet with `count` copies of a spec, with different names and the same layers."""
    text = spec.read_text(encoding="utf-8")
    for other in spec.parent.glob("*.yaml"):
        other.unlink()
    for number in range(1, count + 1):
        name = f"{spec.stem}-{number:02}"
        _write(spec.with_stem(name), text.replace(spec.stem, name))


def _replaced(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    result, count = pattern.subn(by, text, count=1)
    if not count:
        raise ValueError(f"the spec does not contain {pattern.pattern}")
    return result


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
