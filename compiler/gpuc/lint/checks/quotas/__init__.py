"""Checks of quotas: nominal quotas, borrowing, the capacity of nodes, and ResourceQuotas of namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.queue import from_objects
from gpuc.lint.checks.quotas import closed_pools
from gpuc.lint.checks.quotas.borrowing import borrowing
from gpuc.lint.checks.quotas.limit_ranges import limit_ranges
from gpuc.lint.checks.quotas.namespace_quotas import namespace_quotas
from gpuc.lint.checks.quotas.object_counts import object_counts
from gpuc.lint.checks.quotas.quota_over_capacity import quota_over_capacity, quota_proportions
from gpuc.lint.checks.quotas.unbalanced_quota import unbalanced_quota
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about quotas that cannot be used, that exceed the capacity of nodes, or that Kueue refuses."""
    yield from closed_pools.findings(objects)
    yield from object_counts(objects)
    yield from limit_ranges(objects)
    queues = from_objects(objects)
    if not queues.trees:
        return
    pools = objects.once(FlavorCapacity)
    yield from quota_over_capacity(pools, queues.trees)
    for tree in queues.trees:
        if objects.is_complete or tree.root.is_queue:
            yield from quota_proportions(pools, tree)
        yield from unbalanced_quota(pools, tree)
        yield from borrowing(pools, tree)
    yield from namespace_quotas(objects, queues, pools)
