"""The smallest request of every queue, on every pool, for every resource: it runs to its end on a node of that pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Share
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.scenes import NODES_ACT, Scene
from gpuc.rehearse.scenes.jobs import SMALL, Work
from gpuc.rehearse.scenes.observe import run


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """One piece of each GPU resource, or a little of a general pool; at the same time all of them fit."""
    for queue in cluster_queues(cluster):
        for share in queue.shares:
            for resource in share.pool.gpu_resource_names or ("",):
                yield _scene(cluster, queue, share, resource)


def _scene(cluster: Cluster, queue: ClusterQueue, share: Share, resource: str) -> Scene:
    pool = share.pool
    request = Request(SMALL | ({resource: 1} if resource else {}), pool=pool.name)
    what = f"one {resource}" if resource else "a little cpu"
    work = Work(f"smallest {queue.name} {pool.name} {what}", queue, request)
    answer = expect(cluster, queue, request)
    if answer.verdict == "admitted":
        # Others may be on the node already; every pod by itself needs no more than one.
        answer = replace(answer, verdict="complete", nodes=1, borrowed=None)
    return Scene(
        family="smallest",
        name=f"{queue.name} {pool.name} {what}",
        origin=share.path,
        expected=answer,
        play=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=what,
        act=NODES_ACT,
        takes=request,
    )
