"""Findings of checks on Kubernetes objects: a rule, an object, a path and a message."""

from __future__ import annotations

from typing import NamedTuple

from gpuc.diagnostics.finding import Finding, Path, Rule
from gpuc.manifest.manifest import Manifest


class ObjectFinding(NamedTuple):
    """A finding at a path of an object."""

    rule: Rule
    manifest: Manifest
    path: Path
    """The path in the object, such as ("spec", "taints", 0, "effect"); empty for the complete object."""
    message: str
    """The actual value and the allowed or expected value, without the path."""
    fix: str = ""
    """The correct value; empty if the correct value is not certain."""
    on_key: bool = False
    """Whether the key at the path is wrong instead of the value."""

    def to_finding(self) -> Finding:
        """Returns the finding at the path of the spec from which gpuc emitted the object."""
        parts = (self.manifest.file, str(self.manifest), place(self.path), self.message)
        return self.rule.at(self.manifest.origin, ": ".join(filter(None, parts)), fix=self.fix)


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
