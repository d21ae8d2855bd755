"""Test cases for the smallest request of every queue, pool and resource: the pod completes on a node of the pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import CPU
from gpuc.model import ClusterQueue, PoolQuota
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.suites import NODES_BATCH, Case
from gpuc.rehearse.suites.jobs import SMALL, Work
from gpuc.rehearse.suites.observe import run


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields for each queue and pool one unit of each GPU resource, or a small amount of cpu of a general pool.

    All pods fit at the same time.
    """
    for queue in cluster_queues(spec.cluster):
        for pool_quota in queue.pool_quotas:
            for resource in pool_quota.pool.gpu_resource_names or ("",):
                yield _case(spec, queue, pool_quota, resource)


def _case(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, resource: str) -> Case:
    pool = pool_quota.pool
    request = Request(SMALL | ({resource: 1} if resource else {}), pool=pool.name)
    description = f"one {resource}" if resource else f"{SMALL[CPU]}m cpu"
    work = Work(f"smallest {queue.name} {pool.name} {description}", queue, request)
    expected = expect(spec, queue, request)
    if expected.verdict == "admitted":
        # Other pods may run on the node already, but a single pod needs only one node.
        expected = replace(expected, verdict="complete", nodes=1, borrowed=None)
    return Case(
        suite="smallest",
        name=f"{queue.name} {pool.name} {description}",
        origin=pool_quota.path,
        expected=expected,
        action=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=description,
        batch=NODES_BATCH,
        demand=request,
    )
