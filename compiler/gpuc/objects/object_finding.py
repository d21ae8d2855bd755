"""What a judge finds wrong in a tree of objects: at one object, at a path of its document."""

from __future__ import annotations

from typing import NamedTuple

from gpuc.diagnostics.finding import Finding, Path, Rule
from gpuc.manifest.manifest import Manifest


class ObjectFinding(NamedTuple):
    """One thing that is wrong with an object, wherever the object comes from."""

    rule: Rule
    manifest: Manifest
    path: Path
    """Where in the object's document: ("spec", "taints", 0, "effect"); empty for the object."""
    message: str
    """What was seen, and what is allowed or expected, without the place."""
    fix: str = ""
    """What to write instead, only where it is certain."""
    on_key: bool = False
    """Whether the fault lies in the key at the path, not in its value."""

    def to_finding(self) -> Finding:
        """The finding at the spec path that the object was emitted for."""
        parts = (self.manifest.file, str(self.manifest), place(self.path), self.message)
        return self.rule.at(self.manifest.origin, ": ".join(filter(None, parts)), fix=self.fix)


def place(path: Path) -> str:
    """A JSON path: names with points between them, indexes in brackets, odd names in brackets and quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("-", "").replace("_", "").isalnum():
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
