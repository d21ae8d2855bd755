"""Compares the parser in C with PyYAML's own parser on mutated specs: `python -m tests.source.parsers NUMBER [SEED]`.

A spec is read by the parser in C. Where it stops, and where a text has a tab, the other parser decides.
"""

import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gpuc.documents.composer import Node, events
from gpuc.source import document
from gpuc.source.document import compose
from tests.conftest import ROOT

PIECES = (
    ":", ": ", "- ", "\n", "\n  ", " #", "#", "'", '"', "[", "]", "{", "}", ",", "&a ", "*a", "!!str ", "|\n", ">\n",
    "---\n", "...\n", "%YAML 1.2\n", "\\x", "\u00a0", "é", "🙂", "~", "<<: ", "0o7", "1_000", "\r", "\t", "@", "`",
)  # fmt: skip
"""What a mutation inserts. Characters that `text_of` refuses are left out, and so is the question mark: PyYAML refuses
it in a text in brackets, which YAML 1.2 and the parser in C allow."""


def mutated_texts(number: int, seed: int) -> Iterator[str]:
    """Yields parts of example specs with one to three mutations: a piece deleted, inserted, or moved."""
    chance = random.Random(seed)
    specs = [file.read_text("utf-8").splitlines(keepends=True) for file in sorted(ROOT.glob("specs/**/*.yaml"))]
    for _ in range(number):
        lines = chance.choice(specs)
        start = chance.randrange(len(lines))
        text = "".join(lines[start : start + chance.randint(2, 12)])
        for _ in range(chance.randint(1, 3)):
            place, length = chance.randint(0, len(text)), chance.choice((0, 0, 1, 2, 5))
            text = text[:place] + chance.choice(("", chance.choice(PIECES))) + text[place + length :]
        yield text


def _tree(node: Node | None) -> Any:
    """The values of a node, with the positions of values and keys."""
    if node is None:
        return None
    if isinstance(node.value, dict):
        return node.mark, [(key, node.keys[key], _tree(child)) for key, child in node.value.items()]
    return node.mark, [_tree(child) for child in node.value] if isinstance(node.value, list) else (node.value, node.raw)


def differences(number: int, seed: int) -> list[str]:
    """Returns the mutated texts that have other values, positions or findings without the parser in C."""
    found = []
    for text in mutated_texts(number, seed):
        fast = compose.__wrapped__(text, "f.yaml")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(document, "events", lambda text, is_fast=True: events(text, False))
            slow = compose.__wrapped__(text, "f.yaml")
        if (_tree(fast[0]), fast[1]) != (_tree(slow[0]), slow[1]):
            found.append(text)
    return found


if __name__ == "__main__":
    texts = differences(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(*map(repr, texts[:20]), f"{len(texts)} of {sys.argv[1]} texts differ", sep="\n")
    sys.exit(bool(texts))
