"""The exception for values that the API server rejects."""

from __future__ import annotations


class Invalid(ValueError):
    """The API server rejects an object with this value, so the object has no effect."""
