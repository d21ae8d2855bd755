"""Renders the jinja2 templates of the emitters. Undefined variables are errors. Compiled templates are cached."""

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc import __version__
from gpuc.manifest.cache_folder import cache_folder

if TYPE_CHECKING:
    from jinja2 import Environment, FileSystemBytecodeCache
    from jinja2.bccache import Bucket


def render(folder: Path, template: str, /, *more: Path, **values: object) -> str:
    """Returns the text of a template. The template can extend templates in further folders.

    The filter `shell` of templates quotes values for the shell.

    Raises:
        ValueError: if a value that the template quotes for the shell has a line break or a control character.
    """
    return _environment(folder, *more).get_template(template).render(**values)


def shell_quoted(value: object) -> str:
    """Returns a value as one quoted word of a shell command, which can also be a part of a shell comment.

    Raises:
        ValueError: if the value has a line break (which would end a comment) or a control character.
    """
    import shlex

    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!r} has characters that are not allowed in user data")
    return shlex.quote(text)


@cache
def _environment(*folders: Path) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_bytecode_cache(),
    )
    environment.filters["shell"] = shell_quoted
    return environment


def _bytecode_cache() -> "FileSystemBytecodeCache":
    """Returns a cache in the cache folder of the user. If the folder is not writable, templates are not cached."""
    from jinja2 import FileSystemBytecodeCache as Base

    class Cache(Base):
        """A cache with one file for each compiled template. jinja2 ignores a file if the template has changed."""

        def load_bytecode(self, bucket: "Bucket") -> None:
            try:
                super().load_bytecode(bucket)
            except (OSError, EOFError, ValueError, TypeError):
                bucket.reset()

        def dump_bytecode(self, bucket: "Bucket") -> None:
            with suppress(OSError):
                os.makedirs(self.directory, exist_ok=True)
                super().dump_bytecode(bucket)

    return Cache(str(cache_folder(f"templates-{__version__}-{sys.implementation.cache_tag}")))
