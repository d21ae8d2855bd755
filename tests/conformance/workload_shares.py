"""Which random workloads run at the same time, so that none of them lacks quota or nodes because of another."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.conformance.random_workloads import RandomWorkload
from tests.conformance.workload_mutations_rules import PREFIX

Key = tuple[str, ...]
MOST = 45
"""The largest number of workloads at the same time."""
USED = 0.7
"""The part of a quota or pool that workloads use together."""
HEAVY = frozenset({
    "more pods than the quota", "twenty pods", "host anti-affinity beyond the nodes", "one block for twelve nodes",
})  # fmt: skip
"""Mutations after which a workload may use all nodes of its pool."""


def has_own_pool(workload: RandomWorkload) -> bool:
    """Returns whether a workload may use all nodes of its pool, or has rules that count the nodes of others."""
    return workload.mutation in HEAVY or workload.mutation.startswith(PREFIX)


@dataclass
class Shares:
    """The parts of pools and quotas that running workloads use."""

    is_alone: bool = False
    """Whether workloads share neither a cohort nor a pool."""
    count: int = 0
    used: dict[Key, float] = field(default_factory=dict)

    def limits(self, workload: RandomWorkload) -> dict[Key, float]:
        """Returns the nodes that all workloads together may use, by pool and quota."""
        target = workload.target
        pool: dict[Key, float] = {("pool", target.pool.name): float(target.pool.nodes_max)}
        if not self.is_alone:
            return {**pool, ("quota", target.queue or target.namespace.name, target.pool.name): target.nodes}
        return {("cohort",): 1.0} if target.queue else {**pool, ("namespace", target.namespace.name): 1.0}

    def add(self, workload: RandomWorkload) -> bool:
        """Adds a workload unless its pool or quota is used up; returns whether the workload was added."""
        wanted = self._wanted(workload)
        limits = self.limits(workload)
        if self.count >= MOST or any(
            self.used.get(key) and self.used[key] + wanted[key] > USED * limit for key, limit in limits.items()
        ):
            return False
        self.count += 1
        for key, nodes in wanted.items():
            self.used[key] = self.used.get(key, 0) + nodes
        return True

    def remove(self, workload: RandomWorkload) -> None:
        """Removes a workload that was added."""
        self.count -= 1
        for key, nodes in self._wanted(workload).items():
            self.used[key] -= nodes
            if self.used[key] < 1e-9:
                del self.used[key]

    def _wanted(self, workload: RandomWorkload) -> dict[Key, float]:
        takes_all = self.is_alone or has_own_pool(workload)
        return {key: limit if takes_all else min(workload.nodes, limit) for key, limit in self.limits(workload).items()}


def rounds(workloads: Iterable[RandomWorkload]) -> list[list[RandomWorkload]]:
    """Returns the workloads in rounds in which they share neither a cohort nor a pool."""
    found: list[tuple[Shares, list[RandomWorkload]]] = []
    for workload in workloads:
        for shares, part in found:
            if shares.add(workload):
                part.append(workload)
                break
        else:
            found.append((Shares(is_alone=True), [workload]))
            found[-1][0].add(workload)
    return [part for _, part in found]
