"""Test cases for gangs: Kueue admits a gang that uses the nominal quota, and refuses one unit above the maximum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, quantity_text
from gpuc.model import Cluster, ClusterQueue, PoolQuota
from gpuc.model.names import EFA, HUGEPAGES, is_gpu_resource
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import admission, borrowing

BATCH = "quota"
TINY: Amounts = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""Requests so small that no other quota is exceeded."""
PAGE = 2 * MIB


def cases(cluster: Cluster) -> Iterator[Case]:
    """For each queue and pool: the gangs that fit the nominal quota, and for each resource one that does not fit."""
    for queue in cluster_queues(cluster):
        for pool_quota in queue.pool_quotas:
            for resource, gang in gangs(pool_quota).items():
                yield _fits(cluster, queue, pool_quota, resource, gang)
            for resource in pool_quota.nominal:
                if (request := beyond(cluster, queue, pool_quota, resource)) is not None:
                    yield _refused(cluster, queue, pool_quota, resource, request)


def gangs(pool_quota: PoolQuota) -> dict[str, Request]:
    """By GPU resource, the largest gang of equal pods within the nominal quota: full nodes, or slices and shares."""
    pool = pool_quota.pool
    if pool.sharing is None or pool.sharing.mode == "exclusive":
        pods = {pool.gpu_resource_names[0] if pool.sharing else "": dict(pool.node)}
    else:
        pods = pool.portions
    largest = {}
    for resource, pod in pods.items():
        count = min(pool_quota.nominal[name] // amount for name, amount in pod.items() if amount)
        if count:
            largest[resource] = Request(pod, count, pool.name)
    return largest


def beyond(cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota, resource: str) -> Request | None:
    """The smallest request that exceeds the queue's maximum of one resource, and no other quota."""
    pool, quota = pool_quota.pool, Quota(cluster)
    most = quota.capacity(queue, pool.name, resource)
    gpu = dict.fromkeys(pool.gpu_resource_names[:1], 1)
    if not is_gpu_resource(resource) and resource != EFA:
        step = PAGE if resource == HUGEPAGES else 1
        return Request(TINY | gpu | {resource: most + step}, pool=pool.name)
    largest = 1 if resource.endswith("shared") else pool.node[resource]
    for total in range(most + 1, most + largest + 1):
        for per_pod in range(largest, 0, -1):
            pod = TINY | (gpu if resource == EFA else {}) | {resource: per_pod}
            pods = total // per_pod
            if total % per_pod == 0 and _fits_others(quota, queue, pool.name, resource, Request(pod, pods)):
                return Request(pod, pods, pool.name)
    return None


def _fits_others(quota: Quota, queue: ClusterQueue, flavor: str, resource: str, request: Request) -> bool:
    """Whether a request is within the quotas of all other resources."""
    others = {name: amount for name, amount in request.total.items() if name != resource}
    return all(amount <= quota.capacity(queue, flavor, name) for name, amount in others.items())


def _fits(cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota, resource: str, request: Request) -> Case:
    pool = pool_quota.pool.name
    what = f"{request.pods} pods with {_amount(request, resource)}"
    work = Work(f"gangs {queue.name} {pool} {what}", queue, request, without_pods=True)
    answer = expect(cluster, queue, request)
    expected = replace(answer, verdict="admitted", pool="", instance_types=(), nodes=None)
    return Case(
        suite="gangs",
        name=f"{queue.name} {pool} {what}",
        origin=pool_quota.path,
        expected=expected if answer.verdict != "refused" else answer,
        action=partial(borrowing, work=work),
        queue=queue.name,
        pool=pool,
        request=what,
        batch=BATCH,
        demand=request,
    )


def _refused(cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota, resource: str, request: Request) -> Case:
    pool = pool_quota.pool.name
    what = f"{quantity_text(resource, request.total[resource])} {resource}, more than it can have"
    work = Work(f"gangs {queue.name} {pool} {what}", queue, request, without_pods=True)
    return Case(
        suite="gangs",
        name=f"{queue.name} {pool} {what}",
        origin=pool_quota.path,
        expected=expect(cluster, queue, request),
        action=partial(admission, work=work),
        queue=queue.name,
        pool=pool,
        request=what,
        batch=BATCH,
        demand=request,
    )


def _amount(request: Request, resource: str) -> str:
    name = resource or CPU
    return f"{quantity_text(name, request.pod[name])} {name}"
