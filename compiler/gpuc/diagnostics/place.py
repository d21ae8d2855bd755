"""Writes paths in YAML documents as text."""

from gpuc.diagnostics.finding import Path


def dotted(path: Path) -> str:
    """Returns a path as text, for example spec.containers[0].image. Keys never have quotes."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def place(path: Path) -> str:
    """Returns a path as text, for example spec.taints[0].effect. Brackets and quotes surround unusual keys."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("-", "").replace("_", "").isalnum():
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
