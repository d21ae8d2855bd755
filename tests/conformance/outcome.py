"""What one check of the lane came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was held against a judge that is not ours."""

    name: str
    problem: str = ""
    """What is wrong; empty where nothing is."""
    note: str = ""
    """What a reader of the log should know of it."""
