"""Becomes a program that ends with the process that started it: `launch.py PARENT PROGRAM ARGUMENT...`.

Run as a script, because what the program must inherit is set in the child and Python's hooks for that are unsafe
beside threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Replaces this process; Linux alone ends it with its parent, elsewhere the next run does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
