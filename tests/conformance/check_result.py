"""The result of a conformance check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a comparison of gpuc with another program."""

    name: str
    """A sentence that states what was compared."""
    problem: str = ""
    """The differences; empty if the check passed."""
    note: str = ""
    """Further information for the log, such as the number of objects."""
