"""Starts a program that ends when its parent process ends: `launch.py PARENT PROGRAM ARGUMENT...`.

PARENT is the id of the parent process. The module runs as a script, because the child process itself must ask Linux for
the signal at its parent's end, and because Python's preexec_fn is not safe with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Replaces this process by the program. Linux ends the program with its parent; elsewhere, the next run ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
