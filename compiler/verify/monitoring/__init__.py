"""Objects of the Prometheus operator: monitors that can find nothing, and one that is labelled unlike all others."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.verify.flaw import Flaw
from compiler.verify.monitoring.chosen import odd_ones
from compiler.verify.monitoring.watched import blind
from compiler.verify.tree import Tree


def flaws(tree: Tree) -> Iterator[Flaw]:
    """What Prometheus never reads, and what it never finds."""
    yield from blind(tree)
    yield from odd_ones(tree)
