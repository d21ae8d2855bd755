"""The user's cache: the one place outside of out/ and clusters/ that gpuc writes to."""

from __future__ import annotations

import os


def cache_folder(name: str) -> str:
    """The folder of one kind of cached files; it may not exist, or not be writable."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "gpuc", name)
