"""jinja2 as the emitters use it: strict about what is undefined, compiled once per user and not once per run."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc import __version__
from gpuc.manifest.cache_folder import cache_folder

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket, BytecodeCache


@cache
def environment(folder: Path) -> Environment:
    """The environment of the templates in a folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_compiled_once(),
    )


def _compiled_once() -> BytecodeCache:
    """A cache of compiled templates in the user's cache; where that cannot be written they are compiled each time."""
    from jinja2.bccache import BytecodeCache as Base

    place = cache_folder(f"templates-{__version__}-{sys.implementation.cache_tag}")

    class Cache(Base):
        """Files by template; jinja2 itself refuses one whose template has changed."""

        def load_bytecode(self, bucket: Bucket) -> None:
            try:
                with open(os.path.join(place, bucket.key), "rb") as file:
                    bucket.load_bytecode(file)
            except (OSError, EOFError, ValueError, TypeError):
                bucket.reset()

        def dump_bytecode(self, bucket: Bucket) -> None:
            target = os.path.join(place, bucket.key)
            aside = f"{target}.{os.getpid()}"
            try:
                os.makedirs(place, exist_ok=True)
                with open(aside, "wb") as file:
                    bucket.write_bytecode(file)
                os.replace(aside, target)
            except OSError:
                return

    return Cache()
