"""The exception for values that the API server rejects."""

from __future__ import annotations


class Invalid(ValueError):
    """A value that the API server rejects. The object with the value cannot exist in a cluster."""
