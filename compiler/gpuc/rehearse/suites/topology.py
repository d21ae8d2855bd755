"""Test cases for topology-aware scheduling: a gang that fills one block of a static pool, and a larger gang."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import ClusterQueue, Pool
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import run
from gpuc.rehearse.topology_labels import BLOCK_NODES


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields for each ClusterQueue and static pool with blocks: gangs up to a block and one node, and a large pod."""
    numbers: dict[str, int] = {}
    for queue in cluster_queues(spec.cluster):
        for pool in queue.pools:
            if pool.is_static and "block" in (pool.spec.topology or ()):
                number = numbers[pool.name] = numbers.get(pool.name, 0) + 1
                block = min(BLOCK_NODES, pool.nodes_max)
                full_node = dict(pool.node)
                for pods in (1, block, block + 1):
                    yield _case(spec, queue, pool, Request(full_node, pods, pool.name, one_block=True), number)
                too_large = full_node | {"cpu": full_node["cpu"] + 1}
                yield _case(spec, queue, pool, Request(too_large, 1, pool.name), number, "1m cpu more")


def _case(spec: CompiledSpec, queue: ClusterQueue, pool: Pool, request: Request, number: int, extra: str = "") -> Case:
    expected = expect(spec, queue, request)
    suffix = " in one block" if request.one_block else ""
    description = f"{request.pods} full nodes{suffix}{' and ' + extra if extra else ''}"
    work = Work(f"topology {queue.name} {pool.name} {description}", queue, request, keeps_running=True)
    return Case(
        suite="topology",
        name=f"{queue.name} {pool.name} {description}",
        origin=(*pool.path, "topology"),
        expected=replace(expected, verdict="bound", borrowed=None) if expected.verdict == "admitted" else expected,
        action=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=description,
        batch=f"topology {number}",
        demand=request,
    )
