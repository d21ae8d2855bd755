"""The commands in a README of a cluster: one shell program whose lines have the numbers of the README's lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it.token import Token

from tests.ci.markdown import parsed

PROGRAMS = ("argocd", "aws", "curl", "eksctl", "gpuc", "helm", "jq", "kubectl")
_COMMAND = re.compile(rf"\s*(?:[A-Z_]+=\S*\s+)?(?:{'|'.join(PROGRAMS)})\s")
_YAML_KEY = re.compile(r"[\w.-]+:(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """Shell commands in one code block."""

    line: int
    """Number of the first line in the README."""
    text: str


def blocks(readme: str) -> list[Block]:
    """The code blocks with shell commands, in the order of the README. Blocks with YAML are left out."""
    found = (token for token in parsed(readme) if token.type in ("code_block", "fence"))
    return [Block(_line(token), token.content) for token in found if not _YAML_KEY.match(token.content)]


def program(found: list[Block]) -> str:
    """All blocks as one shell program. Each command has the line number that it has in the README."""
    lines: list[str] = []
    for block in found:
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.text.splitlines()
    return "\n".join(lines) + "\n"


def mentions(readme: str) -> Iterator[Block]:
    """Yields the commands inside of sentences, for example `kubectl auth whoami`. Their arguments can be incomplete."""
    for token in parsed(readme):
        for child in token.children or ():
            if child.type == "code_inline" and _COMMAND.match(child.content):
                yield Block((token.map or [0])[0] + 1, child.content)


def hidden_commands(readme: str) -> Iterator[Block]:
    """Yields lines of paragraphs that look like commands: Markdown shows them as text, not as a code block."""
    for token in parsed(readme):
        if token.type == "inline":
            for offset, text in enumerate(token.content.splitlines()):
                if _COMMAND.match(text) and not text.startswith("gpuc "):  # gpuc is often the subject of a sentence
                    yield Block((token.map or [0])[0] + 1 + offset, text)


def _line(token: Token) -> int:
    start = (token.map or [0])[0]
    return start + 1 + (token.type == "fence")
