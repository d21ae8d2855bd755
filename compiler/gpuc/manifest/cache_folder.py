"""The cache folder of the user. gpuc writes to no other folder outside of out/ and clusters/."""

import os


def cache_folder(name: str) -> str:
    """Returns the path of a folder in the user's cache. The folder may be missing or not writable."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "gpuc", name)
