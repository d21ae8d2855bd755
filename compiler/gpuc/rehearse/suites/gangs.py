"""Test cases for gangs: Kueue admits a gang within the nominal quota, and refuses one unit above the maximum."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, quantity_text
from gpuc.model import ClusterQueue, PoolQuota
from gpuc.model.names import EFA, HUGEPAGES, is_gpu_resource
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import admission, cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import admission as observed_admission
from gpuc.rehearse.suites.observe import borrowing

BATCH = "quota"
TINY: Amounts = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""Requests that are too small to exceed a quota."""
PAGE = 2 * MIB


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields for each ClusterQueue and pool the gangs within the nominal quota, and a refused gang per resource."""
    for queue in cluster_queues(spec.cluster):
        for pool_quota in queue.pool_quotas:
            for resource, gang in gangs(pool_quota).items():
                yield _admitted_case(spec, queue, pool_quota, resource, gang)
            for resource in pool_quota.nominal:
                if (request := refused_request(spec, queue, pool_quota, resource)) is not None:
                    yield _refused_case(spec, queue, pool_quota, resource, request)


def gangs(pool_quota: PoolQuota) -> dict[str, Request]:
    """Returns the largest gang of equal pods within the nominal quota, by GPU resource.

    A pod requests a full node of an exclusive pool, and one slice or share of any other pool with its part of a node.
    """
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


def refused_request(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, resource: str) -> Request | None:
    """Returns the smallest request above a ClusterQueue's maximum of a resource, but within the quota of all others.

    Returns None if no such request exists.
    """
    pool, quota = pool_quota.pool, Quota(spec)
    maximum = quota.available(queue, pool.name, resource)
    gpu = dict.fromkeys(pool.gpu_resource_names[:1], 1)
    if not is_gpu_resource(resource) and resource != EFA:
        step = PAGE if resource == HUGEPAGES else 1
        return Request(TINY | gpu | {resource: maximum + step}, pool=pool.name)
    largest = 1 if resource.endswith("shared") else pool.node[resource]
    for total in range(maximum + 1, maximum + largest + 1):
        for per_pod in range(largest, 0, -1):
            pod = TINY | (gpu if resource == EFA else {}) | {resource: per_pod}
            pods = total // per_pod
            if total % per_pod == 0 and _fits_other_quota(quota, queue, pool.name, resource, Request(pod, pods)):
                return Request(pod, pods, pool.name)
    return None


def _fits_other_quota(quota: Quota, queue: ClusterQueue, flavor: str, resource: str, request: Request) -> bool:
    """Returns whether a request is within the quota of all resources except one."""
    others = {name: amount for name, amount in request.total.items() if name != resource}
    return all(amount <= quota.available(queue, flavor, name) for name, amount in others.items())


def _admitted_case(
    spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, resource: str, request: Request
) -> Case:
    pool = pool_quota.pool.name
    description = f"{request.pods} pods with {_amount(request, resource)}"
    work = Work(f"gangs {queue.name} {pool} {description}", queue, request, without_pods=True)
    return Case(
        suite="gangs",
        name=f"{queue.name} {pool} {description}",
        origin=pool_quota.path,
        expected=admission(spec, queue, request),
        action=partial(borrowing, work=work),
        queue=queue.name,
        pool=pool,
        request=description,
        batch=BATCH,
        demand=request,
    )


def _refused_case(
    spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, resource: str, request: Request
) -> Case:
    pool = pool_quota.pool.name
    description = f"{quantity_text(resource, request.total[resource])} {resource}, more than the maximum"
    work = Work(f"gangs {queue.name} {pool} {description}", queue, request, without_pods=True)
    return Case(
        suite="gangs",
        name=f"{queue.name} {pool} {description}",
        origin=pool_quota.path,
        expected=expect(spec, queue, request),
        action=partial(observed_admission, work=work),
        queue=queue.name,
        pool=pool,
        request=description,
        batch=BATCH,
        demand=request,
    )


def _amount(request: Request, resource: str) -> str:
    name = resource or CPU
    return f"{quantity_text(name, request.pod[name])} {name}"
