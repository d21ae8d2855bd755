"""The exception for a command line that gpuc cannot execute."""


class UsageError(Exception):
    """gpuc cannot execute the command line. The text is the reason, in one line for the user. The exit code is 2."""
