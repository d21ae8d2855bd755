"""Kueue's arithmetic of quota: what a ClusterQueue can have, has left, and has to borrow, cohort trees included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gpuc.model import Cluster, ClusterQueue, Cohort, Queue, Share


@dataclass
class Quota:
    """All quota of a cluster, and what is held of it.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go
    """

    cluster: Cluster
    held: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Amount by ClusterQueue, flavor and resource."""

    def hold(self, queue: str, flavor: str, amounts: Mapping[str, int]) -> None:
        """Takes quota, as an admitted workload does."""
        for resource, amount in amounts.items():
            key = (queue, flavor, resource)
            self.held[key] = self.held.get(key, 0) + amount

    def capacity(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """The most that a ClusterQueue can have while nobody else has anything."""
        nominal, borrow, private = _figures(queue, flavor, resource)
        root = self._path(queue)[-1:]
        if not root:
            return nominal
        whole = private + self._common(root[0], flavor, resource)
        return whole if borrow is None else min(nominal + borrow, whole)

    def available(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """What it can have now, its own and what it may borrow."""
        nominal, borrow, private = _figures(queue, flavor, resource)
        used = self._used(queue, flavor, resource)
        root = self._path(queue)[-1:]
        if not root:
            return nominal - used
        common = self._common(root[0], flavor, resource) - self._taken(root[0], flavor, resource)
        if borrow is not None:
            common = min(nominal - private - max(0, used - private) + borrow, common)
        return max(0, private - used) + common

    def borrowed(self, queue: ClusterQueue, flavor: str, amounts: Mapping[str, int]) -> dict[str, int]:
        """What the queue would have borrowed once it held these amounts too."""
        found = {}
        for resource, amount in amounts.items():
            over = self._used(queue, flavor, resource) + amount - _figures(queue, flavor, resource)[0]
            if over > 0:
                found[resource] = over
        return found

    def distance(self, queue: ClusterQueue, flavor: str, resource: str, amount: int) -> int:
        """How far up the tree an amount has to be borrowed; 0 is the queue's own.

        Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go
        """
        nominal, _, private = _figures(queue, flavor, resource)
        used = self._used(queue, flavor, resource)
        path = self._path(queue)
        if used + amount <= nominal or not path:
            return 0
        wanted = amount - max(0, private - used)
        for cohort in path:
            if self._taken(cohort, flavor, resource) + wanted <= self._common(cohort, flavor, resource):
                return self._height(cohort)
        return self._height(path[-1])

    def _used(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        return self.held.get((queue.name, flavor, resource), 0)

    @cached_property
    def _paths(self) -> dict[str, list[Cohort]]:
        """The cohorts above each ClusterQueue, its own first."""
        cohorts = {each.name: each for each in self.cluster.cohorts}
        paths: dict[str, list[Cohort]] = {}
        for queue in self.cluster.queues:
            path, name = [], queue.spec.cohort
            while name is not None:
                path.append(cohorts[name])
                name = cohorts[name].spec.parent
            paths |= {part.name: path for part in queue.cluster_queues}
        return paths

    @cached_property
    def _parts(self) -> dict[str, list[ClusterQueue]]:
        """The ClusterQueues of each cohort and of all cohorts below it."""
        found: dict[str, list[ClusterQueue]] = {}
        for queue in self.cluster.queues:
            for part in queue.cluster_queues:
                for cohort in self._paths[part.name]:
                    found.setdefault(cohort.name, []).append(part)
        return found

    def _path(self, queue: ClusterQueue) -> list[Cohort]:
        return self._paths[queue.name]

    def _below(self, cohort: Cohort) -> list[ClusterQueue]:
        return self._parts.get(cohort.name, [])

    def _common(self, cohort: Cohort, flavor: str, resource: str) -> int:
        """What its queues bring into a cohort."""
        figures = [_figures(part, flavor, resource) for part in self._below(cohort)]
        return sum(nominal - private for nominal, _, private in figures)

    def _taken(self, cohort: Cohort, flavor: str, resource: str) -> int:
        """What its queues hold of what is common."""
        return sum(
            max(0, self._used(part, flavor, resource) - _figures(part, flavor, resource)[2])
            for part in self._below(cohort)
        )

    def _height(self, cohort: Cohort) -> int:
        children = [each for each in self.cluster.cohorts if each.spec.parent == cohort.name]
        own = any(queue.spec.cohort == cohort.name for queue in self.cluster.queues)
        return max([1 if own or children else 0, *(self._height(each) + 1 for each in children)])


def owner(cluster: Cluster, queue: ClusterQueue) -> Queue:
    """The queue of the spec that a ClusterQueue is a part of."""
    return next(each for each in cluster.queues if queue in each.cluster_queues)


def share_of(queue: ClusterQueue, flavor: str) -> Share | None:
    """What a ClusterQueue has of a flavor; None where it does not name it."""
    return next((share for share in queue.shares if share.pool.name == flavor), None)


def _figures(queue: ClusterQueue, flavor: str, resource: str) -> tuple[int, int | None, int]:
    """Nominal quota, borrowing limit, and the part that is never lent."""
    share = share_of(queue, flavor)
    if share is None or resource not in share.nominal:
        return 0, None, 0
    nominal = share.nominal[resource]
    borrow = None if share.borrow is None else share.borrow[resource]
    private = 0 if share.lend is None else max(0, nominal - share.lend[resource])
    return nominal, borrow, private
