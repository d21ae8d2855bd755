"""The largest gang that a queue's own quota carries is admitted; one unit above what it can ever have is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, quantity_text
from gpuc.model import Cluster, ClusterQueue, Share
from gpuc.model.names import EFA, HUGEPAGES, is_gpu_resource
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.jobs import Work
from gpuc.rehearse.scenes.observe import admission, borrowing

ACT = "quota"
TINY: Amounts = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""So little that no quota but the one in question counts."""
PAGE = 2 * MIB


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Per queue and pool the gang that fits, and per resource one that does not; none borrows from another."""
    for queue in cluster_queues(cluster):
        for share in queue.shares:
            for resource, gang in gangs(share).items():
                yield _fits(cluster, queue, share, resource, gang)
            for resource in share.nominal:
                if (request := beyond(cluster, queue, share, resource)) is not None:
                    yield _refused(cluster, queue, share, resource, request)


def gangs(share: Share) -> dict[str, Request]:
    """By GPU resource the largest gang of equal pods within the nominal quota: full nodes, or pieces."""
    pool = share.pool
    if pool.sharing is None or pool.sharing.mode == "exclusive":
        pods = {pool.gpu_resource_names[0] if pool.sharing else "": dict(pool.node)}
    else:
        pods = pool.portions
    found = {}
    for resource, pod in pods.items():
        count = min(share.nominal[name] // amount for name, amount in pod.items() if amount)
        if count:
            found[resource] = Request(pod, count, pool.name)
    return found


def beyond(cluster: Cluster, queue: ClusterQueue, share: Share, resource: str) -> Request | None:
    """The smallest request above what a queue can ever have of one resource, and above nothing else."""
    pool, quota = share.pool, Quota(cluster)
    most = quota.capacity(queue, pool.name, resource)
    piece = dict.fromkeys(pool.gpu_resource_names[:1], 1)
    if not is_gpu_resource(resource) and resource != EFA:
        step = PAGE if resource == HUGEPAGES else 1
        return Request(TINY | piece | {resource: most + step}, pool=pool.name)
    largest = 1 if resource.endswith("shared") else pool.node[resource]
    for total in range(most + 1, most + largest + 1):
        for each in range(largest, 0, -1):
            pod = TINY | (piece if resource == EFA else {}) | {resource: each}
            pods = total // each
            if total % each == 0 and _only(quota, queue, pool.name, resource, Request(pod, pods)):
                return Request(pod, pods, pool.name)
    return None


def _only(quota: Quota, queue: ClusterQueue, flavor: str, resource: str, request: Request) -> bool:
    """Whether a request is within all quotas but that of one resource."""
    others = {name: amount for name, amount in request.total.items() if name != resource}
    return all(amount <= quota.capacity(queue, flavor, name) for name, amount in others.items())


def _fits(cluster: Cluster, queue: ClusterQueue, share: Share, resource: str, request: Request) -> Scene:
    pool = share.pool.name
    what = f"{request.pods} pods with {_pieces(request, resource)}"
    work = Work(f"gangs {queue.name} {pool} {what}", queue, request, podless=True)
    answer = expect(cluster, queue, request)
    expected = replace(answer, verdict="admitted", pool="", instance_types=(), nodes=None)
    return Scene(
        family="gangs",
        name=f"{queue.name} {pool} {what}",
        origin=share.path,
        expected=expected if answer.verdict != "refused" else answer,
        play=partial(borrowing, work=work),
        queue=queue.name,
        pool=pool,
        request=what,
        act=ACT,
        takes=request,
    )


def _refused(cluster: Cluster, queue: ClusterQueue, share: Share, resource: str, request: Request) -> Scene:
    pool = share.pool.name
    what = f"{quantity_text(resource, request.total[resource])} {resource}, more than it can have"
    work = Work(f"gangs {queue.name} {pool} {what}", queue, request, podless=True)
    return Scene(
        family="gangs",
        name=f"{queue.name} {pool} {what}",
        origin=share.path,
        expected=expect(cluster, queue, request),
        play=partial(admission, work=work),
        queue=queue.name,
        pool=pool,
        request=what,
        act=ACT,
        takes=request,
    )


def _pieces(request: Request, resource: str) -> str:
    name = resource or CPU
    return f"{quantity_text(name, request.pod[name])} {name}"
