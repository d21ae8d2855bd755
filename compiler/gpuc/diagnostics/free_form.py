"""The parts of a spec that gpuc copies into the output: Helm values and patches.

These parts can have any key, and null is allowed as a value.
"""

from gpuc.diagnostics.finding import Path

_FREE_FORM = {("charts", "values"), ("components", "values"), ("patches", "patch")}
"""The sections of a spec, and the key in each of their elements."""


def is_free_form(path: Path) -> bool:
    """Returns whether a path of the merged spec is in Helm values or in a patch.

    In Helm values and patches, null is a value. The key `accept` has no special meaning for gpuc there.
    """
    return len(path) > 3 and path[0] == "spec" and (path[1], path[3]) in _FREE_FORM
