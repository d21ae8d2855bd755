"""Templates of texts: Python expressions in `{{ }}`, statements in `{% %}`, and comments in `{# #}`.

The statements are if, elif, else, for, set, and `include NAME`; each if and for has its end (endif, endfor). A template
that begins with `extends NAME` replaces the blocks (block NAME ... endblock) of another template. A line that has only
a statement or a comment leaves no line in the text. A name without a value is an error.

gpuc compiles a template to Python, once for each version of the template. An engine such as jinja2 takes longer to
import than all templates of a cluster to render.
"""

import marshal
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType

from gpuc import __version__
from gpuc.manifest.cache_folder import cache_folder

_TAG = re.compile(r"\{%(.*?)%\}|\{\{(.*?)\}\}|\{#.*?#\}", re.DOTALL)
_EXTENDS = re.compile(r"\{% extends \"(.*?)\" %\}")
_INCLUDE = re.compile(r"\{% include \"(.*?)\"( ignore missing)? %\}")
_BLOCK = re.compile(r"\{% block (\w+) %\}(.*?)\{% endblock %\}", re.DOTALL)


def render(folder: Path, template: str, /, *more: Path, **values: object) -> str:
    """Renders a template in a folder, which can extend and include templates in more folders.

    Besides the values, expressions have the functions `shell`, which quotes a value for the shell, and `join`.

    Raises:
        ValueError: if a value that the template quotes for the shell has a line break or a control character.
    """
    return _rendered(_compiled(template, folder, *more), values)


def render_text(template: str, **values: object) -> str:
    """Renders a template that is not in a file, and that extends and includes no other template."""
    return _rendered(compile(_program(_trimmed(template)), "<template>", "exec"), values)


def shell_quoted(value: object) -> str:
    """Quotes a value as one word of a shell command. The result can also be part of a shell comment.

    Raises:
        ValueError: if the value has a line break (which would end a comment) or a control character.
    """
    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!r} has characters that are not allowed in user data")
    return shlex.quote(text)


def _joined(values: Iterable[object], separator: str = ", ") -> str:
    return separator.join(map(str, values))


def _rendered(code: CodeType, values: dict[str, object]) -> str:
    parts: list[object] = []
    exec(code, {"shell": shell_quoted, "join": _joined, **values, "_write": parts.append})
    return "".join(map(str, parts))


@cache
def _compiled(template: str, *folders: Path) -> CodeType:
    """Returns the compiled program of a template, from the cache folder of the user if the program has not changed."""
    program = _program(_text(template, folders))
    digest = sha256(program.encode()).digest()
    folder = cache_folder(f"templates-{__version__}-{sys.implementation.cache_tag}")
    file = os.path.join(folder, sha256(f"{folders[0]}/{template}".encode()).hexdigest()[:24])
    with suppress(OSError, EOFError, ValueError, TypeError), open(file, "rb") as stream:
        if stream.read(len(digest)) == digest:
            cached: CodeType = marshal.loads(stream.read())
            return cached
    code = compile(program, os.path.join(folders[0], template), "exec")
    with suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        incomplete = Path(f"{file}.{os.getpid()}")
        incomplete.write_bytes(digest + marshal.dumps(code))
        incomplete.replace(file)
    return code


def _text(template: str, folders: tuple[Path, ...]) -> str:
    """Returns a template with the templates that it includes, and the template that it extends with its blocks."""
    path = next((path for folder in folders if (path := folder / template).is_file()), folders[0] / template)
    text = _trimmed(path.read_text("utf-8"))
    if extends := _EXTENDS.search(text):
        blocks: dict[str, str] = dict(_BLOCK.findall(_included(text, folders)))
        return _BLOCK.sub(lambda block: blocks.get(block[1], block[2]), _text(extends[1], folders))
    return _included(text, folders)


def _included(text: str, folders: tuple[Path, ...]) -> str:
    def of(include: re.Match[str]) -> str:
        is_missing = include[2] and not any((folder / include[1]).is_file() for folder in folders)
        return "" if is_missing else _text(include[1], folders)

    return _INCLUDE.sub(of, text)


def _trimmed(text: str) -> str:
    """Returns a template without the spaces before a statement or comment in its line, and a line break after it."""
    return re.sub(r"([%#]\})\n", r"\1", re.sub(r"^[ \t]+(?=\{[%#])", "", text, flags=re.MULTILINE))


def _program(text: str) -> str:
    return "\n".join(_lines(text)) + "\n"


def _lines(text: str) -> Iterator[str]:
    """Yields the lines of the Python program that writes the text of a template."""
    depth = end = 0
    for tag in _TAG.finditer(text):
        if tag.start() > end:
            yield f"{' ' * depth}_write({text[end : tag.start()]!r})"
        end = tag.end()
        word, _, rest = (tag[1] or "").strip().partition(" ")
        if tag[2]:
            yield f"{' ' * depth}_write({tag[2].strip()})"
        elif word == "set":
            yield f"{' ' * depth}{rest}"
        elif word in ("if", "for", "elif", "else"):
            depth -= word in ("elif", "else")
            yield f"{' ' * depth}{word} {rest}:"
            depth += 1
            yield f"{' ' * depth}pass"
        elif word.startswith("end") and word != "endblock":
            depth -= 1
    if text[end:]:
        yield f"_write({text[end:]!r})"
