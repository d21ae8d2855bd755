"""The cache folder of the user, the only folder outside of out/ and clusters/ that gpuc writes to."""

from __future__ import annotations

import os


def cache_folder(name: str) -> str:
    """Returns a folder for cached files. The folder may not exist or may not be writable."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "gpuc", name)
