"""Test cases for reclaim: a ClusterQueue gets back the quota that another ClusterQueue has borrowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import ClusterQueue, PoolQuota
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.borrowing import largest_gang
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.preemption import compete

IN_COHORT = "due to reclamation within the cohort"
"""A part of the message of a Workload that another ClusterQueue preempts to reclaim quota."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields for each pool and pair of ClusterQueues: one borrows the maximum, the other submits its largest gang."""
    numbers: dict[str, int] = {}
    for borrower in cluster_queues(spec.cluster):
        for lender in cluster_queues(spec.cluster):
            for pool_quota in lender.pool_quotas:
                pair = _job_pair(spec, borrower, lender, pool_quota)
                if pair is not None:
                    number = numbers[pool_quota.pool.name] = numbers.get(pool_quota.pool.name, 0) + 1
                    yield _case(spec, pool_quota, *pair, f"reclaim {number}")


def _job_pair(
    spec: CompiledSpec, borrower: ClusterQueue, lender: ClusterQueue, pool_quota: PoolQuota
) -> tuple[Work, Work] | None:
    """Returns the Jobs of the borrower and of the lender; None if the lender's Job needs no reclaim."""
    borrower_quota = next((candidate for candidate in borrower.pool_quotas if candidate.pool is pool_quota.pool), None)
    cohorts = {owner(spec.cluster, queue).spec.cohort for queue in (borrower, lender)}
    if borrower is lender or borrower_quota is None or None in cohorts or len(cohorts) > 1:
        return None
    borrower_gang, lender_gang = (
        next(iter(gangs(candidate).values()), None) for candidate in (borrower_quota, pool_quota)
    )
    if borrower_gang is None or lender_gang is None:
        return None
    borrowing_gang = largest_gang(spec, borrower, borrower_quota, borrower_gang)
    quota = Quota(spec)
    quota.add_usage(borrower.name, pool_quota.pool.name, borrowing_gang.total)
    if all(quota.available(lender, pool_quota.pool.name, name) >= amount for name, amount in lender_gang.total.items()):
        return None
    return Work("", borrower, borrowing_gang, without_pods=True), Work("", lender, lender_gang, without_pods=True)


def _case(spec: CompiledSpec, pool_quota: PoolQuota, first: Work, second: Work, batch: str) -> Case:
    pool = pool_quota.pool.name
    name = f"{second.queue.name} {pool} lent to {first.queue.name}"
    jobs = [replace(work, name=f"reclaim {name} {work.queue.name}") for work in (first, second)]
    reclaims = owner(spec.cluster, second.queue).spec.preempt.reclaim == "any"
    refused = Outcome("refused", by="Kueue", message="insufficient unused quota for")
    return Case(
        suite="reclaim",
        name=name,
        origin=(*owner(spec.cluster, second.queue).path, "preempt"),
        expected=Outcome("preempted", by="Kueue", flavor=pool, message=IN_COHORT) if reclaims else refused,
        action=partial(compete, first=jobs[0], second=jobs[1]),
        queue=second.queue.name,
        pool=pool,
        request=f"all nominal quota while ClusterQueue {first.queue.name} borrows",
        batch=batch,
    )
