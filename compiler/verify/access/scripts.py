"""The kubectl commands that a container certainly runs: by its arguments, or line by line of a short shell script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from compiler.verify.access.kubectl import Command, parse
from compiler.verify.tree import dig, items

_SHELLS = frozenset(("sh", "bash", "ash", "dash"))
_RUNS_SCRIPT = re.compile(r"-[a-z]*c")
_VERSION = re.compile(r":v?1\.(\d{1,3})(?:[.\-@]|$)")
_ELSEWHERE = frozenset(("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_MASTER"))
"""Variables of the environment that lead kubectl to another cluster, or give it other credentials."""
_WORDS = frozenset((
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "exit",
    "return", "exec", "trap", "{", "}", "!", "set",
))  # fmt: skip
"""Behind these it depends on something whether a command runs."""
_MOST_TEXT = 20_000


def commands(container: Any) -> Iterator[Command]:
    """Every command behind the word kubectl that a container starts with, as long as none can be skipped."""
    if any(dig(each, "name") in _ELSEWHERE for _, each in items(dig(container, "env"))):
        return
    start, arguments = _texts(dig(container, "command")), _texts(dig(container, "args"))
    if start is None or arguments is None:
        return
    line = [*start, *arguments]
    if not start and image_name(container) == "kubectl":
        line = ["kubectl", *line]
    if not line:
        return
    program = line[0].rpartition("/")[2]
    if program == "kubectl":
        found = parse(line[1:])
        if found is not None:
            yield found
    elif program in _SHELLS and len(line) > 2 and _RUNS_SCRIPT.fullmatch(line[1]):
        yield from _of_script(line[2])


def minor_version(container: Any) -> int | None:
    """The minor version of Kubernetes that an image's tag says; None where it says none."""
    image = dig(container, "image")
    found = _VERSION.search(image) if isinstance(image, str) else None
    return int(found[1]) if found else None


def image_name(container: Any) -> str:
    """The last part of the image's name, without tag and digest; empty where it has none."""
    image = dig(container, "image")
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0] if isinstance(image, str) else ""


def _texts(value: Any) -> list[str] | None:
    """A list of texts, empty where there is none; None where it is anything else."""
    if value is None:
        return []
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None


def _of_script(text: str) -> Iterator[Command]:
    """Commands of a script up to the first word on which it depends whether anything further runs."""
    if len(text) > _MOST_TEXT:
        return
    for line in text.replace("\\\n", " ").splitlines():
        tokens = _tokens(line)
        if tokens is None:
            return
        for statement in _statements(tokens):
            if statement[0] == "set" and all(word.startswith("-") or word == "pipefail" for word in statement[1:]):
                continue
            if statement[0] in _WORDS or not _is_plain(statement):
                return
            if _is_kubectl(statement) and (found := parse(statement[1:])) is not None:
                yield found


def _tokens(line: str) -> list[str] | None:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def _statements(tokens: list[str]) -> Iterator[list[str]]:
    """What stands between semicolons and `&&`, up to a condition that is no kubectl."""
    part: list[str] = []
    for token in (*tokens, ";"):
        if token in (";", "&&"):
            if part:
                yield part
            if token == "&&" and not (part and _is_kubectl(part)):
                return
            part = []
        else:
            part.append(token)


def _is_kubectl(statement: list[str]) -> bool:
    return statement[0].rpartition("/")[2] == "kubectl"


def _is_plain(statement: list[str]) -> bool:
    """Whether it is one command that nothing is piped, redirected or put into, and whose failure counts."""
    return not any(set(word) <= set(";&|()<>") or "`" in word or "$(" in word for word in statement) and (
        "=" not in statement[0]
    )
