"""Rendering of user data: templates beside this module, values quoted for a shell."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.emit.template import environment

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: object) -> str:
    """The text of a template.

    Raises:
        ValueError: when a value that is quoted for a shell has a line break or a control character.
    """
    return _environment().get_template(template).render(**values)


def shell_quoted(value: object) -> str:
    """A value as one word of a shell, also inside of a comment, which a line break would end.

    Raises:
        ValueError: when it has a line break or a control character.
    """
    import shlex

    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!r} has characters that may not stand in user data")
    return shlex.quote(text)


@cache
def _environment() -> Environment:
    made = environment(Path(__file__).parent)
    made.filters["shell"] = shell_quoted
    return made
