"""Each kind of share, counted on nodes: as many as a node advertises are on one, one more needs a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from compiler.model import Cluster, ClusterQueue, Pool
from compiler.rehearse.expectation import Request, cluster_queues, expect, portions
from compiler.rehearse.scenes import Scene
from compiler.rehearse.scenes.jobs import Work
from compiler.rehearse.scenes.observe import run

FULL, BEYOND = "one node of shares", "two nodes of shares"
"""All kinds of a pool at once: a node has room for the full count of each."""


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Whole GPUs, MIG slices, time-sliced and MPS shares of every pool, each with its part of the node."""
    for pool in cluster.gpu_pools:
        queue = next((each for each in cluster_queues(cluster) if pool in each.pools), None)
        if queue is None:
            continue
        for resource, pod in portions(pool).items():
            for count, act in ((pool.node[resource], FULL), (pool.node[resource] + 1, BEYOND)):
                yield _scene(cluster, queue, pool, resource, Request(pod, count, pool.name), act)


def _scene(cluster: Cluster, queue: ClusterQueue, pool: Pool, resource: str, request: Request, act: str) -> Scene:
    answer = expect(cluster, queue, request)
    what = f"{request.pods} pods with one {resource}"
    work = Work(f"shares {queue.name} {pool.name} {what}", queue, request, holds=True)
    if answer.verdict == "admitted":
        # On the nodes of a static pool, which are there already, pods may spread.
        answer = replace(answer, verdict="bound", borrowed=None, nodes=None if pool.is_static else answer.nodes)
    return Scene(
        family="shares",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "sharing"),
        expected=answer,
        play=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=what,
        act=act,
        takes=request,
    )
