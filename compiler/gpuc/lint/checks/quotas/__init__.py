"""Quota arithmetic over objects alone: what is promised, lent and borrowed against what nodes and namespaces hold."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.lint.checks.quotas import closed
from gpuc.lint.checks.quotas.balance import balance
from gpuc.lint.checks.quotas.borrowing import borrowing
from gpuc.lint.checks.quotas.counts import counts
from gpuc.lint.checks.quotas.families import families
from gpuc.lint.checks.quotas.namespaces import namespaces
from gpuc.lint.checks.quotas.promises import Nodes, promises, proportions
from gpuc.lint.checks.quotas.ranges import ranges
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Quotas that cannot be used, cannot be kept, or that Kueue refuses."""
    yield from closed.findings(tree)
    yield from counts(tree)
    yield from ranges(tree)
    known = families(tree)
    if not known:
        return
    nodes = Nodes(tree)
    yield from promises(nodes, known)
    for family in known:
        if tree.is_complete or family.root.is_queue:
            yield from proportions(nodes, family)
        yield from balance(nodes, family)
        yield from borrowing(tree, family)
    yield from namespaces(tree, known)
