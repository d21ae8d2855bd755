"""The parts of a spec that gpuc copies into the output: Helm values and patches. They can have any key, and null."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path

_ANY = "*"
_FREE_FORM: tuple[Path, ...] = (
    ("spec", "charts", _ANY, "values"),
    ("spec", "components", _ANY, "values"),
    ("spec", "patches", _ANY, "patch"),
)


def is_free_form(path: Path) -> bool:
    """Returns whether a path of the merged spec is in Helm values or in a patch.

    In these parts, null is a value, and `accept` is a key without a meaning for gpuc.
    """
    return any(
        len(path) >= len(pattern) and all(step in (_ANY, at) for step, at in zip(pattern, path, strict=False))
        for pattern in _FREE_FORM
    )
