"""A guess, before anything is read, whether a compile will have something to print.

It only decides when Node starts: a wrong guess costs time and nothing else. It looks at times of modification and
not at digests, so that an edit that changes nothing in the output does not change the index either.
"""

from __future__ import annotations

import os

INPUTS = ("specs", "policies")


def has_news(root: str) -> bool:
    """Whether an input below the root is newer than an index, or there is no index."""
    out = os.path.join(root, "out")
    folders = os.listdir(out) if os.path.isdir(out) else []
    written = [time for name in folders if (time := _modified(os.path.join(out, name, "gpuc.lock")))]
    return not written or _newest(root) > min(written)


def _newest(root: str) -> int:
    """The latest time, in nanoseconds, at which an input or a folder of inputs was modified."""
    newest = 0
    for top in INPUTS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            times = [_modified(os.path.join(folder, name)) for name in files]
            newest = max(newest, _modified(folder), *times)
    return newest


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
