"""Which files a path means."""

from __future__ import annotations

import os
from collections.abc import Iterator

from compiler.usage import UsageError

SUFFIXES = (".yaml", ".yml", ".json")


def files_below(path: str) -> Iterator[str]:
    """A file that is named, whatever its name; of a folder the YAML and JSON files, sorted, hidden folders left out.

    Raises:
        UsageError: when there is nothing at the path.
    """
    if not os.path.exists(path):
        raise UsageError(f"no file {path}")
    if os.path.isfile(path):
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(SUFFIXES))
