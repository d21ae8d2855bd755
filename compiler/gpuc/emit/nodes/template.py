"""Templates of user data, in this folder. The filter `shell` quotes values for the shell."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.emit.template import environment

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: object) -> str:
    """Renders a template of this folder.

    Raises:
        ValueError: if a value that the template quotes for the shell has a line break or a control character.
    """
    return _environment().get_template(template).render(**values)


def shell_quoted(value: object) -> str:
    """Quotes a value as one word of a shell command. The result can also be part of a shell comment.

    Raises:
        ValueError: if the value has a line break (which would end a comment) or a control character.
    """
    import shlex

    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!r} has characters that are not allowed in user data")
    return shlex.quote(text)


@cache
def _environment() -> Environment:
    jinja = environment(Path(__file__).parent)
    jinja.filters["shell"] = shell_quoted
    return jinja
