"""The schedule of test cases: cases that cannot influence one another run at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil

from gpuc.kubernetes.amounts import Amounts, total
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.suites import Case

HALF = 0.5


@dataclass
class Batch:
    """Test cases that run at the same time, and their total demand."""

    quota: Quota
    cases: list[Case] = field(default_factory=list)
    work: dict[str, tuple[Request, ...]] = field(default_factory=dict)
    """Requests by the name of the node pool that runs them."""
    refused: list[tuple[ClusterQueue, Request, Outcome]] = field(default_factory=list)
    """Requests that Kueue must refuse, whatever other work it has admitted."""
    blocked: set[str] = field(default_factory=set)
    """ClusterQueues with StrictFIFO whose head Kueue refuses: Kueue does not consider the work behind it."""
    present: set[str] = field(default_factory=set)
    """ClusterQueues that have work in this batch."""

    def add(self, cluster: Cluster, case: Case) -> bool:
        """Adds a test case if the batch does not change its outcome; returns whether it was added."""
        if case.demand is not None:
            queue = next(queue for queue in cluster_queues(cluster) if queue.name == case.queue)
            if not self._reserve(cluster, queue, case.demand):
                return False
        self.cases.append(case)
        return True

    def _reserve(self, cluster: Cluster, queue: ClusterQueue, request: Request) -> bool:
        """Adds a request to the batch's demand if all outcomes stay the same."""
        alone = expect(cluster, queue, request)
        refused = alone.verdict == "refused"
        strict = owner(cluster, queue).spec.strategy == "strict"
        if queue.name in self.blocked or (strict and refused and queue.name in self.present):
            return False
        quota, work = Quota(cluster, dict(self.quota.usage)), dict(self.work)
        if not refused:
            pool = next(pool for pool in queue.pools if pool.name == alone.flavor)
            if alone.verdict != "pending":
                work[pool.name] = (*self.work.get(pool.name, ()), request)
            if pool.name in self.work and _nodes(pool, work.get(pool.name, ())) > pool.nodes_max:
                return False
            quota.hold(queue.name, pool.name, request.total)
        to_refuse = [*self.refused, (queue, request, alone)] if refused else self.refused
        if not refused and expect(cluster, queue, request, self.quota) != alone:
            return False
        if any(expect(cluster, other, refusable, quota) != outcome for other, refusable, outcome in to_refuse):
            return False
        self.quota, self.work, self.refused = quota, work, to_refuse
        self.present.add(queue.name)
        if strict and refused:
            self.blocked.add(queue.name)
        return True


def schedule(cluster: Cluster, cases: Iterable[Case]) -> list[list[Case]]:
    """Batches in the order of the run. Cases with the same batch name share a batch if they are independent."""
    batches: dict[str, list[Batch]] = {}
    for case in cases:
        same_name = batches.setdefault(case.batch or case.suite, [])
        if not any(batch.add(cluster, case) for batch in same_name):
            same_name.append(Batch(Quota(cluster)))
            same_name[-1].add(cluster, case)
    return [batch.cases for same_name in batches.values() for batch in same_name]


def _nodes(pool: Pool, work: Iterable[Request]) -> int:
    """Upper limit of the nodes that some requests need: a pod above half a node has its own, smaller pods share nodes.

    Small pods beside large ones may need one node more, because Karpenter starts nodes as the pods arrive.
    """
    requests = list(work)
    large = [request for request in requests if _node_fraction(pool, request.pod) > HALF]
    small = total(request.total for request in requests if request not in large)
    spread = 1 if large and small else 0
    return sum(request.pods for request in large) + ceil(_node_fraction(pool, small)) + spread


def _node_fraction(pool: Pool, amounts: Amounts) -> float:
    """The largest fraction of a node's resources that the amounts use."""
    return max((amount / pool.node[name] for name, amount in amounts.items() if pool.node.get(name)), default=0)
