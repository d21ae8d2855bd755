"""Quota arithmetic over objects alone: what is promised, lent and borrowed against what nodes and namespaces hold."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.verify.flaw import Flaw
from compiler.verify.quotas.balance import balance
from compiler.verify.quotas.borrowing import borrowing
from compiler.verify.quotas.counts import counts
from compiler.verify.quotas.kueue import families
from compiler.verify.quotas.namespaces import namespaces
from compiler.verify.quotas.promises import Nodes, promises, proportions
from compiler.verify.quotas.ranges import ranges
from compiler.verify.tree import Tree


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Quotas that cannot be used, cannot be kept, or that Kueue refuses."""
    yield from counts(tree)
    yield from ranges(tree)
    known = families(tree)
    if not known:
        return
    nodes = Nodes(tree)
    yield from promises(nodes, known)
    for family in known:
        if tree.is_whole or family.root.is_queue:
            yield from proportions(nodes, family)
        yield from balance(nodes, family)
        yield from borrowing(tree, family)
    yield from namespaces(tree, known)
