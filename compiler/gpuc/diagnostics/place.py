"""Paths in documents as text."""

from gpuc.diagnostics.finding import Path


def dotted(path: Path) -> str:
    """Returns a path as text without quotes: spec.containers[0].image."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


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
