"""Test cases for borrowing: a ClusterQueue borrows up to the limit, and its status contains the borrowed amounts.

The suite gangs tests the refusal above the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import CPU, texts
from gpuc.model import ClusterQueue, PoolQuota
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import borrowing


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields the largest request that borrows quota, for each ClusterQueue, pool and GPU resource.

    The status of a ClusterQueue contains the sum of all borrowed amounts, so its GPU resources have separate batches.
    """
    for queue in cluster_queues(spec.cluster):
        for pool_quota in queue.pool_quotas:
            for number, (resource, nominal) in enumerate(gangs(pool_quota).items(), 1):
                request = largest_gang(spec, queue, pool_quota, nominal)
                if request.pods > nominal.pods:
                    yield _case(spec, queue, pool_quota, resource or CPU, request, f"borrowing {number}")


def largest_gang(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, nominal: Request) -> Request:
    """Returns the largest gang of equal pods within the nominal quota and the borrowed quota of a ClusterQueue.

    nominal: the largest gang within the nominal quota.
    """
    quota = Quota(spec)
    pods = min(
        quota.available(queue, pool_quota.pool.name, name) // amount
        for name, amount in nominal.pod_with_defaults.items()
        if amount
    )
    return replace(nominal, pods=pods)


def _case(
    spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, resource: str, request: Request, batch: str
) -> Case:
    pool = pool_quota.pool.name
    outcome = expect(spec, queue, request)
    description = f"{request.pods} pods with {texts(request.pod)[resource]} {resource}"
    work = Work(f"borrowing {queue.name} {pool} {description}", queue, request, without_pods=True)
    return Case(
        suite="borrowing",
        name=f"{queue.name} {pool} {description}",
        origin=(*pool_quota.path, "borrow"),
        expected=Outcome("admitted", flavor=outcome.flavor, borrowed=outcome.borrowed),
        action=partial(borrowing, work=work),
        queue=queue.name,
        pool=pool,
        request=description,
        batch=batch,
        demand=request,
    )
