"""The parts of a spec that gpuc copies into the output: Helm values and patches.

These parts can have any key, and null is allowed as a value.
"""

from gpuc.diagnostics.finding import Path

_FREE_FORM = {("charts", "values"), ("components", "values"), ("patches", "patch")}
"""The sections of a spec, and the key in each of their elements."""


def is_free_form(path: Path) -> bool:
    """Returns whether a path of the merged spec is inside of Helm values or of a patch.

    There, null is an ordinary value, and a key with the name `accept` does not accept findings.
    """
    return len(path) > 3 and path[0] == "spec" and (path[1], path[3]) in _FREE_FORM
