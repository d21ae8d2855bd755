"""What the API server does not take."""

from __future__ import annotations


class Refused(ValueError):
    """The API server refuses an object that contains this, so the object has no effect."""
