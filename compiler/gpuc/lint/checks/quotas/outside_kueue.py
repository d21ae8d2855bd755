"""ResourceQuotas for node pools that Kueue does not count: their sum, and resources that are counted twice."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from gpuc.cluster.pool import Pool, named
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import rounded
from gpuc.lint.checks import Findings, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.model.units import Unit
from gpuc.objects.object_finding import ObjectFinding
from gpuc.rules.queues.capacity import Counted, beyond, quotas_exceed_capacity

COUNTED_TWICE = rule_of("QTA022")
Hard = dict[str, tuple[Fraction, Manifest, Path]]
"""By resource: the amount that pods of a namespace may request, and the object and path of the lowest ResourceQuota."""


class NamespaceQuota(NamedTuple):
    """The ResourceQuota of a namespace, and the amounts that Kueue can provide in the namespace."""

    namespace: str
    queues: list[str]
    """The ClusterQueues of the namespace."""
    hard: Hard
    provided: Mapping[str, int]

    def outside(self, resource: str) -> Fraction:
        """Returns the amount that the namespace may request beyond the amount that Kueue can provide."""
        if resource not in self.hard:
            return Fraction(0)
        return max(self.hard[resource][0] - self.provided.get(resource, 0), Fraction(0))

    def pools(self, unqueued: list[Pool]) -> list[Pool]:
        """Returns the pools without Kueue whose GPUs the namespace may request."""
        return [pool for pool in unqueued if any(self.outside(resource) >= 1 for resource in pool.gpus)]


_Group = tuple[dict[str, Pool], list[NamespaceQuota]]
"""Pools by name, and the namespaces that may use the pools; no other namespace may use the pools."""


def outside_kueue(quotas: list[NamespaceQuota], unqueued: list[Pool]) -> Findings:
    """Yields findings about ResourceQuotas for pools that no ResourceFlavor selects.

    Only sums for pools of gpuc are compared with the capacity: other clusters may allow more than their nodes have.
    """
    for quota in quotas:
        yield from _counted_twice(quota, unqueued)
    for pools, members in _groups(quotas, [pool for pool in unqueued if pool.of_spec]):
        if not any(pool.is_closed for pool in pools.values()):
            yield from _over_capacity(pools, members)


def _counted_twice(quota: NamespaceQuota, unqueued: list[Pool]) -> Findings:
    for pool in quota.pools(unqueued):
        for resource in sorted(pool.gpus):
            provided = quota.provided.get(resource, 0)
            if provided and quota.outside(resource) >= 1:
                value, manifest, path = quota.hard[resource]
                text = f"the ResourceQuota allows {rounded(resource, value)}: {rounded(resource, provided)} for "
                text += f"ClusterQueue {', '.join(quota.queues)}, and the rest for pods outside of Kueue on "
                yield ObjectFinding(COUNTED_TWICE, manifest, path, f"{text}{named([pool])}, which can use both amounts")


def _groups(quotas: list[NamespaceQuota], unqueued: list[Pool]) -> list[_Group]:
    """Returns the namespaces that use pools without Kueue. Namespaces with a common pool are in the same group."""
    groups: list[_Group] = []
    for quota in quotas:
        pools, members = {pool.name: pool for pool in quota.pools(unqueued)}, [quota]
        for group in [group for group in groups if pools.keys() & group[0].keys()]:
            groups.remove(group)
            pools, members = {**pools, **group[0]}, [*members[:-1], *group[1], quota]
        groups += [(pools, members)] if pools else []
    return groups


def _over_capacity(pools: dict[str, Pool], quotas: list[NamespaceQuota]) -> Findings:
    """Yields a finding for the first GPU resource of which the namespaces may request more than the nodes have."""
    for resource in sorted(resource for pool in pools.values() for resource in pool.gpus):
        bounds = [pool.maximum_of_devices(resource) for pool in pools.values()]
        known = [bound for bound in bounds if bound is not None]
        beyond_kueue = [(quota, amount) for quota in quotas if (amount := quota.outside(resource))]
        if len(known) == len(bounds) and sum(amount for _, amount in beyond_kueue) > sum(known):
            rows = [
                Counted(quota.namespace, amount, quota.hard[resource][2], quota.hard[resource][1])
                for quota, amount in beyond_kueue
            ]
            found = beyond(rows, sum(known), "pods outside of Kueue", named(pools.values()), Unit(resource, ""))
            yield found.on_object(quotas_exceed_capacity.rule)
            return
