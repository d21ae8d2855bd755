"""The exception for a command line that gpuc cannot execute."""


class UsageError(Exception):
    """The command line is wrong. The text of the exception explains it in one line. The exit code of gpuc is 2."""
