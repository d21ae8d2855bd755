"""Test cases for reclaim: a queue takes back the quota that it has lent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, PoolQuota
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.borrowing import largest
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.preemption import compete

IN_COHORT = "due to reclamation within the cohort"


def cases(cluster: Cluster) -> Iterator[Case]:
    """For each pool and pair of queues: one borrows the maximum, the other submits its largest gang."""
    numbers: dict[str, int] = {}
    for borrower in cluster_queues(cluster):
        for lender in cluster_queues(cluster):
            for pool_quota in lender.pool_quotas:
                pair = _pair(cluster, borrower, lender, pool_quota)
                if pair is not None:
                    number = numbers[pool_quota.pool.name] = numbers.get(pool_quota.pool.name, 0) + 1
                    yield _case(cluster, pool_quota, *pair, f"reclaim {number}")


def _pair(
    cluster: Cluster, borrower: ClusterQueue, lender: ClusterQueue, pool_quota: PoolQuota
) -> tuple[Work, Work] | None:
    """The work of the borrower and of the lender; None if the lender's work fits without reclaim."""
    own = next((candidate for candidate in borrower.pool_quotas if candidate.pool is pool_quota.pool), None)
    cohorts = {owner(cluster, queue).spec.cohort for queue in (borrower, lender)}
    if borrower is lender or own is None or None in cohorts or len(cohorts) > 1:
        return None
    borrowed, wanted = (next(iter(gangs(candidate).values()), None) for candidate in (own, pool_quota))
    if borrowed is None or wanted is None:
        return None
    lent = largest(cluster, borrower, own, borrowed)
    quota = Quota(cluster)
    quota.hold(borrower.name, pool_quota.pool.name, lent.total)
    if all(quota.available(lender, pool_quota.pool.name, name) >= amount for name, amount in wanted.total.items()):
        return None
    return Work("", borrower, lent, without_pods=True), Work("", lender, wanted, without_pods=True)


def _case(cluster: Cluster, pool_quota: PoolQuota, first: Work, second: Work, batch: str) -> Case:
    pool = pool_quota.pool.name
    name = f"{second.queue.name} {pool} lent to {first.queue.name}"
    works = [replace(work, name=f"reclaim {name} {work.queue.name}") for work in (first, second)]
    reclaims = owner(cluster, second.queue).spec.preempt.reclaim == "any"
    waits = Outcome("refused", by="Kueue", message="insufficient unused quota for")
    return Case(
        suite="reclaim",
        name=name,
        origin=(*owner(cluster, second.queue).path, "preempt"),
        expected=Outcome("preempted", by="Kueue", flavor=pool, message=IN_COHORT) if reclaims else waits,
        action=partial(compete, first=works[0], second=works[1]),
        queue=second.queue.name,
        pool=pool,
        request=f"all of its own while {first.queue.name} has borrowed",
        batch=batch,
    )
