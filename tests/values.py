"""The values of a tree of maps and lists with their paths, and copies of the tree with one difference."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from gpuc.diagnostics.finding import Path


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields a value with its path, then all values below it."""
    yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield from walk(child, (*path, step))


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yields the paths of all values below a value."""
    return (below for below, _ in walk(value, path) if below != path)


def value_at(tree: Any, path: Path) -> Any:
    """Returns the value at a path."""
    for step in path:
        tree = tree[step]
    return tree


def changed(tree: Any, path: Path, value: Any) -> Any:
    """Returns a copy of the tree with another value at a path."""
    copy = deepcopy(tree)
    value_at(copy, path[:-1])[path[-1]] = value
    return copy


def without(tree: Any, path: Path) -> Any:
    """Returns a copy of the tree without the value at a path."""
    copy = deepcopy(tree)
    del value_at(copy, path[:-1])[path[-1]]
    return copy
