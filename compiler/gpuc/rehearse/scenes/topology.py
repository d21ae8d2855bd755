"""Gangs that want to be near one another: a block or a whole static pool carries one, and not one pod more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.fabric import BLOCK_NODES
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.jobs import Work
from gpuc.rehearse.scenes.observe import run


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Per queue and static pool with a topology: full nodes of one block, one more, and a pod that fits no node."""
    turns: dict[str, int] = {}
    for queue in cluster_queues(cluster):
        for pool in queue.pools:
            if pool.is_static and "block" in (pool.spec.topology or ()):
                turn = turns[pool.name] = turns.get(pool.name, 0) + 1
                block = min(BLOCK_NODES, pool.nodes_max)
                whole = dict(pool.node)
                for pods in (1, block, block + 1):
                    yield _scene(cluster, queue, pool, Request(whole, pods, pool.name, one_block=True), turn)
                wide = whole | {"cpu": whole["cpu"] + 1}
                yield _scene(cluster, queue, pool, Request(wide, 1, pool.name), turn, "a little more cpu")


def _scene(cluster: Cluster, queue: ClusterQueue, pool: Pool, request: Request, turn: int, more: str = "") -> Scene:
    answer = expect(cluster, queue, request)
    where = " in one block" if request.one_block else ""
    what = f"{request.pods} full nodes{where}{' and ' + more if more else ''}"
    work = Work(f"topology {queue.name} {pool.name} {what}", queue, request, holds=True)
    return Scene(
        family="topology",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "topology"),
        expected=replace(answer, verdict="bound", borrowed=None) if answer.verdict == "admitted" else answer,
        play=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=what,
        act=f"topology {turn}",
        takes=request,
    )
