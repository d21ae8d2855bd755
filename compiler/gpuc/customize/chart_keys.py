"""What gpuc knows about Helm values: why gpuc sets them, which defaults gpuc relies on, and values without effect."""

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.emit.component import Component, component_named


def reason(name: str, path: Path) -> str:
    """Returns why gpuc sets a Helm value that a spec replaces; an empty text if there is no special reason.

    If several paths have reasons, the longest path that contains the value decides.
    """
    reasons = component.reasons if (component := component_named(name)) else {}
    known = [key for key in reasons if _starts_with(path, key)]
    return reasons[max(known, key=len)] if known else ""


def relied(component: Component, path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    """Yields each default of the chart on which gpuc relies but that the spec replaces: its path and the reason.

    Args:
        path: the path of a Helm value in the spec that gpuc does not set.
        value: the value in the spec. If it is a map, the function checks the values in the map.
    """
    for key, why in component.relied_defaults.items():
        if found := next((leaf for leaf in _leaves(value, path) if _overlaps(leaf, key)), None):
            yield found[: len(key.split("."))], why


def without_effect(component: Component, path: Path, value: Any) -> Iterator[Path]:
    """Yields the paths of Helm values in the spec that have no effect; only the map's path if a map has no effect."""
    parts = (_part_without_effect(component, leaf, len(path)) for leaf in _leaves(value, path))
    yield from dict.fromkeys(part for part in parts if part)


def _part_without_effect(component: Component, leaf: Path, shortest: int) -> Path:
    """Returns the shortest part of a path below which no value has an effect; empty if the path has an effect."""
    for key, effective in component.ineffective.items():
        if _starts_with(leaf, key):
            lengths = range(max(len(key.split(".")), shortest), len(leaf) + 1)
            parts = (leaf[:length] for length in lengths)
            return next((part for part in parts if not any(_overlaps(part, used) for used in effective)), ())
    return ()


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    """Yields the paths of all values that are not maps. An empty map changes nothing, and has no path."""
    if not isinstance(value, dict):
        yield path
        return
    for key, child in value.items():
        yield from _leaves(child, (*path, key))


def _starts_with(path: Path, key: str) -> bool:
    steps = key.split(".")
    return list(path[: len(steps)]) == steps


def _overlaps(path: Path, key: str) -> bool:
    """Returns whether a path is the key, a part of the key's value, or a map that contains the key."""
    steps = key.split(".")
    common = min(len(steps), len(path))
    return list(path[:common]) == steps[:common]
