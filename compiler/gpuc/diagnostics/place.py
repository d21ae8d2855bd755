"""Paths in documents as text."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path


def place(path: Path) -> str:
    """Returns a path as text: spec.taints[0].effect. Brackets and quotes surround keys with special characters."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("-", "").replace("_", "").isalnum():
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
