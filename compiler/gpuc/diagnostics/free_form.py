"""The parts of a spec that gpuc copies into the output: Helm values and patches. They can have any key, and null."""

from gpuc.diagnostics.finding import Path

_FREE_FORM = {("charts", "values"), ("components", "values"), ("patches", "patch")}
"""The sections of a spec, and the key in each of their elements."""


def is_free_form(path: Path) -> bool:
    """Returns whether a path of the merged spec is in Helm values or in a patch.

    In these parts, null is a value, and `accept` is a key without a meaning for gpuc. As a value, null has the same
    meaning as elsewhere: the key has no value in the cluster.
    """
    return len(path) > 3 and path[0] == "spec" and (path[1], path[3]) in _FREE_FORM
