"""Test cases for borrowing: a queue borrows up to its limit, and its status reports the borrowed amount.

The suite gangs covers the refusal above the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import CPU, texts
from gpuc.model import Cluster, ClusterQueue, PoolQuota
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import borrowing


def cases(cluster: Cluster) -> Iterator[Case]:
    """For each queue, pool and GPU resource: the largest request that includes borrowed quota.

    A queue's status contains the sum of all borrowed amounts, so the resources of a queue have separate batches.
    """
    for queue in cluster_queues(cluster):
        for pool_quota in queue.pool_quotas:
            for number, (resource, own) in enumerate(gangs(pool_quota).items(), 1):
                request = largest(cluster, queue, pool_quota, own)
                if request.pods > own.pods:
                    yield _case(cluster, queue, pool_quota, resource or CPU, request, f"borrowing {number}")


def largest(cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota, own: Request) -> Request:
    """The largest gang of equal pods that a queue can admit with its own and with borrowed quota."""
    quota = Quota(cluster)
    most = min(
        quota.capacity(queue, pool_quota.pool.name, name) // amount for name, amount in own.asked.items() if amount
    )
    return replace(own, pods=most)


def _case(
    cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota, resource: str, request: Request, batch: str
) -> Case:
    pool = pool_quota.pool.name
    answer = expect(cluster, queue, request)
    what = f"{request.pods} pods with {texts(request.pod)[resource]} {resource}"
    work = Work(f"borrowing {queue.name} {pool} {what}", queue, request, without_pods=True)
    return Case(
        suite="borrowing",
        name=f"{queue.name} {pool} {what}",
        origin=(*pool_quota.path, "borrow"),
        expected=Outcome("admitted", flavor=answer.flavor, borrowed=answer.borrowed),
        action=partial(borrowing, work=work),
        queue=queue.name,
        pool=pool,
        request=what,
        batch=batch,
        demand=request,
    )
