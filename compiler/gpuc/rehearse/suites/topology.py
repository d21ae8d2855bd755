"""Test cases for topology-aware scheduling: a gang that fills one block of a static pool, and one pod more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import run
from gpuc.rehearse.topology_labels import BLOCK_NODES


def cases(cluster: Cluster) -> Iterator[Case]:
    """For each queue and static pool with a topology: a full block, one node more, and a pod that fits no node."""
    numbers: dict[str, int] = {}
    for queue in cluster_queues(cluster):
        for pool in queue.pools:
            if pool.is_static and "block" in (pool.spec.topology or ()):
                number = numbers[pool.name] = numbers.get(pool.name, 0) + 1
                block = min(BLOCK_NODES, pool.nodes_max)
                full = dict(pool.node)
                for pods in (1, block, block + 1):
                    yield _case(cluster, queue, pool, Request(full, pods, pool.name, one_block=True), number)
                wide = full | {"cpu": full["cpu"] + 1}
                yield _case(cluster, queue, pool, Request(wide, 1, pool.name), number, "a little more cpu")


def _case(cluster: Cluster, queue: ClusterQueue, pool: Pool, request: Request, number: int, more: str = "") -> Case:
    answer = expect(cluster, queue, request)
    where = " in one block" if request.one_block else ""
    what = f"{request.pods} full nodes{where}{' and ' + more if more else ''}"
    work = Work(f"topology {queue.name} {pool.name} {what}", queue, request, keeps_running=True)
    return Case(
        suite="topology",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "topology"),
        expected=replace(answer, verdict="bound", borrowed=None) if answer.verdict == "admitted" else answer,
        action=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=what,
        batch=f"topology {number}",
        demand=request,
    )
