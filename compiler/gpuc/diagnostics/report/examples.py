"""Good and bad examples for the rules that a module declares. `gpuc explain` shows the examples.

The examples are in the case file of the module, or in a file of the folder examples/. The case file has an entry for
each rule of the module; the key is the rule id.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

_PACKAGE = Path(__file__).parents[2]
_FOLDERS = (Path(__file__).parent / "examples", _PACKAGE / "lint/checks", _PACKAGE / "isolation")
_CHOICE = re.compile(r"⟦([^|⟧]*)\|([^⟧]*)⟧")
_IDS = re.compile(r"^([A-Z]+\d{3}):$", re.MULTILINE)


class Variant(Struct, frozen=True):
    """The good or the bad version of an example."""

    text: str
    file: str
    """The path of the file below its folder."""


class Example(Struct, frozen=True):
    """An example of a rule: a text from which gpuc makes a good and a bad version, or only a sentence."""

    text: str
    """The text with choices: ⟦a|b⟧ is a in the good text, and b in the bad one."""
    place: str
    """What the text is: spec, file (a complete spec), layer, other (another file in specs/), manifest, catalog, policy,
    import (the input of `gpuc catalog import`), lint (the input of `gpuc lint`), or output (customized objects in out/,
    where an object that is missing is an error)."""
    file: str
    """The path of the file below its folder, with choices as in `text`; for the place output, below the root."""
    note: str
    """The sentence, if a text cannot show the difference; otherwise empty."""

    @property
    def good(self) -> Variant:
        """The version of the example without the mistake."""
        return Variant(_CHOICE.sub(r"\1", self.text), _CHOICE.sub(r"\1", self.file))

    @property
    def bad(self) -> Variant:
        """The version of the example with the mistake."""
        return Variant(_CHOICE.sub(r"\2", self.text), _CHOICE.sub(r"\2", self.file))


def example_of(id: str) -> Example | None:  # noqa: A002
    """Returns the example of a rule; None if the files with examples have none for the rule."""
    for stem, text in _texts():
        if id in _IDS.findall(text):
            start = f"\n{text}".index(f"\n{id}:\n")
            following = _IDS.search(text, start + len(id))
            return _example(text[start : following.start() if following else None], id, stem)
    return None


def ids() -> Iterator[str]:
    """Yields the ids of all rules that have an example."""
    for _, text in _texts():
        yield from _IDS.findall(text)


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """Returns the files with examples: the name of each without the suffix, and the text."""
    files = (file for folder in _FOLDERS for file in sorted(folder.rglob("*.yaml")))
    return tuple((file.stem, file.read_text(encoding="utf-8")) for file in files)


def _example(block: str, id: str, stem: str) -> Example:  # noqa: A002
    import yaml

    entry: dict[str, Any] = yaml.safe_load(block)[id]
    place = str(entry.get("in", "spec" if stem == "specs" else "lint"))
    file = entry.get("file", "base.yaml" if place == "layer" else "a.yaml")
    return Example(entry.get("text", ""), place, file, entry.get("note", ""))
