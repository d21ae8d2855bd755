"""Findings about Kubernetes objects: a rule, an object, a path in the object and a message."""

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, Path, Rule
from gpuc.diagnostics.place import place
from gpuc.manifest.manifest import Manifest


class ObjectFinding(Struct, frozen=True):
    """A finding about the value at a path of a Kubernetes object."""

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
    needs: str | None = None
    """What has to be known before the finding is certain, as in Rule.needs; None for the needs of the rule."""
    yields: bool = False
    """Whether another finding about the same field replaces this finding."""

    def to_finding(self) -> Finding:
        """Returns the finding at the user's value in the spec, or at the path from which gpuc emitted the object.

        If a user wrote the object, the finding also has the position in the user's file.
        """
        if self.manifest.written is not None:
            mark = self.manifest.written.locate(self.path, self.on_key)
            message = ": ".join(filter(None, (str(self.manifest), place(self.path), self.message)))
            return self.rule.at(self.manifest.origin, message, fix=self.fix, mark=mark)
        parts = (self.manifest.file, str(self.manifest), place(self.path), self.message)
        own = self.manifest.override(self.path)
        path = self.manifest.origin if own is None else own
        return self.rule.at(path, ": ".join(filter(None, parts)), fix=self.fix, on_key=own is not None and self.on_key)
