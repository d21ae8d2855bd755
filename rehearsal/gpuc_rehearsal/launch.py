"""Starts a program that ends when its parent process ends: `launch.py PARENT PROGRAM ARGUMENT...`.

PARENT is the id of the parent process. On Linux, a process itself must ask for a signal at the end of its parent.
Python's preexec_fn could do so before the program starts, but is not safe with threads. So this script asks for the
signal, and then replaces itself by the program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Replaces this process by the program. On Linux, the program ends when its parent process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
