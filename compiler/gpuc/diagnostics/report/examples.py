"""Good and bad examples of the rules that have no case file beside their module: the files in examples/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "examples"
_CHOICE = re.compile(r"⟦([^|⟧]*)\|([^⟧]*)⟧")
_IDS = re.compile(r"^([A-Z]+\d{3}):$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Example:
    """A good and a bad text for a rule, or a sentence about them."""

    text: str
    """The text with choices: ⟦a|b⟧ is a in the good text, and b in the bad one."""
    place: str
    """What the text is: spec, file (a complete spec), manifest, catalog, policy, lint (the input of `gpuc lint`), or
    output (customized objects in out/, where an object that is missing is an error)."""
    file: str
    """The file of the text, below its folder; for the place output, the path from the root of the fleet."""
    note: str
    """The sentence, if a text cannot show the difference; otherwise empty."""

    @property
    def good(self) -> str:
        """The text without the mistake."""
        return _CHOICE.sub(r"\1", self.text)

    @property
    def bad(self) -> str:
        """The text with the mistake."""
        return _CHOICE.sub(r"\2", self.text)


def example_of(id: str) -> Example | None:  # noqa: A002
    """Returns the example of a rule; None if the files have none."""
    for file in sorted(FOLDER.glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        if id in _IDS.findall(text):
            start = text.index(f"\n{id}:\n") + 1
            following = _IDS.search(text, start + len(id))
            return _example(text[start : following.start() if following else None], id, file.stem)
    return None


def ids() -> Iterator[str]:
    """Yields the ids of the rules with an example in the files."""
    for file in sorted(FOLDER.glob("*.yaml")):
        yield from _IDS.findall(file.read_text(encoding="utf-8"))


def _example(block: str, id: str, stem: str) -> Example:  # noqa: A002
    from ruamel.yaml import YAML

    entry: dict[str, Any] = YAML(typ="safe", pure=True).load(block)[id]
    place = str(entry.get("in", "lint" if stem == "objects" else "spec"))
    return Example(entry.get("text", ""), place, entry.get("file", "a.yaml"), entry.get("note", ""))
