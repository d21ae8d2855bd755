"""The exception for a command line that gpuc cannot execute."""

from __future__ import annotations


class UsageError(Exception):
    """gpuc cannot execute the command line. The text is the reason, in one line for the user. The exit code is 2."""
