"""Temporary fleets, made from the example specs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

_MOST_NODES = re.compile(r"(nodes: \{max: )(\d+)")
_FIRST_INSTANCE = re.compile(r"(instances: \[[\w.-]+)")


def copy_fleet(repository: Path, to: Path) -> Path:
    """A fleet of its own with the repository's specs, nothing compiled."""
    shutil.copytree(repository / "specs", to / "specs")
    return to


def emptied(folder: Path) -> Callable[[], None]:
    """Makes the folder anew."""

    def empty() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    return empty


def edited(spec: Path) -> Callable[[], None]:
    """Changes the size of the spec's first pool, to and fro."""
    text = spec.read_text(encoding="utf-8")
    larger = _replaced(_MOST_NODES, lambda found: f"{found[1]}{int(found[2]) + 1}", text)
    texts = cycle((larger, text))
    return lambda: _write(spec, next(texts))


def break_instance(spec: Path) -> None:
    """Misspells the first instance type of the spec: one error, which stops the compile."""
    text = spec.read_text(encoding="utf-8")
    _write(spec, _replaced(_FIRST_INSTANCE, lambda found: f"{found[1]}x", text))


def multiply(spec: Path, count: int) -> None:
    """Puts `count` clusters in the place of all that the fleet holds; each has its own name and the same layers."""
    text = spec.read_text(encoding="utf-8")
    for other in spec.parent.glob("*.yaml"):
        other.unlink()
    for number in range(1, count + 1):
        name = f"{spec.stem}-{number:02}"
        _write(spec.with_stem(name), text.replace(spec.stem, name))


def _replaced(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    made, count = pattern.subn(by, text, count=1)
    if not count:
        raise ValueError(f"the spec has nothing like {pattern.pattern}")
    return made


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
