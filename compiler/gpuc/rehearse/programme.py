"""Which scenes play together: those that the model says do not notice one another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil

from gpuc.kubernetes.amounts import Amounts, total
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.scenes import Scene

HALF = 0.5


@dataclass
class Act:
    """Scenes that play at the same time, and what they take together."""

    quota: Quota
    scenes: list[Scene] = field(default_factory=list)
    work: dict[str, tuple[Request, ...]] = field(default_factory=dict)
    """What is asked of the nodes of each pool."""
    refused: list[tuple[ClusterQueue, Request, Outcome]] = field(default_factory=list)
    """What Kueue is to refuse, whatever else it has admitted."""
    blocked: set[str] = field(default_factory=set)
    """Strict queues whose head is refused: nothing behind it is looked at."""
    present: set[str] = field(default_factory=set)

    def takes(self, cluster: Cluster, scene: Scene) -> bool:
        """Adds a scene where it does the same as it does alone; says whether it did."""
        if scene.takes is not None:
            queue = next(each for each in cluster_queues(cluster) if each.name == scene.queue)
            if not self._has_room(cluster, queue, scene.takes):
                return False
        self.scenes.append(scene)
        return True

    def _has_room(self, cluster: Cluster, queue: ClusterQueue, request: Request) -> bool:
        alone = expect(cluster, queue, request)
        refused = alone.verdict == "refused"
        strict = owner(cluster, queue).spec.strategy == "strict"
        if queue.name in self.blocked or (strict and refused and queue.name in self.present):
            return False
        quota, work = Quota(cluster, dict(self.quota.usage)), dict(self.work)
        if not refused:
            pool = next(each for each in queue.pools if each.name == alone.flavor)
            if alone.verdict != "pending":
                work[pool.name] = (*self.work.get(pool.name, ()), request)
            if pool.name in self.work and _nodes(pool, work.get(pool.name, ())) > pool.nodes_max:
                return False
            quota.hold(queue.name, pool.name, request.total)
        asked = [*self.refused, (queue, request, alone)] if refused else self.refused
        if not refused and expect(cluster, queue, request, self.quota) != alone:
            return False
        if any(expect(cluster, one, what, quota) != answer for one, what, answer in asked):
            return False
        self.quota, self.work, self.refused = quota, work, asked
        self.present.add(queue.name)
        if strict and refused:
            self.blocked.add(queue.name)
        return True


def programme(cluster: Cluster, scenes: Iterable[Scene]) -> list[list[Scene]]:
    """Acts in the order of play: scenes of one name together, but for those that would notice one another."""
    acts: dict[str, list[Act]] = {}
    for scene in scenes:
        named = acts.setdefault(scene.act or scene.family, [])
        if not any(act.takes(cluster, scene) for act in named):
            named.append(Act(Quota(cluster)))
            named[-1].takes(cluster, scene)
    return [act.scenes for named in acts.values() for act in named]


def _nodes(pool: Pool, asked: Iterable[Request]) -> int:
    """How many nodes of a pool some work may take: a pod of more than half a node has one, smaller ones share theirs.

    Beside large pods small ones may lie on one more: Karpenter starts nodes for pods as they come.
    """
    requests = list(asked)
    large = [request for request in requests if _part(pool, request.pod) > HALF]
    small = total(request.total for request in requests if request not in large)
    spread = 1 if large and small else 0
    return sum(request.pods for request in large) + ceil(_part(pool, small)) + spread


def _part(pool: Pool, amounts: Amounts) -> float:
    """How much of a node amounts are, by the resource that they take most of."""
    return max((amount / pool.node[name] for name, amount in amounts.items() if pool.node.get(name)), default=0)
