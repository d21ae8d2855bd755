"""A pod that takes all that a node leaves to tenants is bound; one that asks for a step more waits for ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.names import SHARED_GPU
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.scenes import NODES_ACT, Scene
from gpuc.rehearse.scenes.jobs import SMALL, Work
from gpuc.rehearse.scenes.observe import run

STEPS = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""The smallest step by resource that a prediction is right about: the rest is counted in pieces and bound by policy."""
NO_NODE = "no instance type has enough resources"
"""Karpenter's words where a pod fits no type of its pool."""


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """For every pool and instance type, from the first queue that has room for so large a pod."""
    for pool in cluster.pools:
        for instance in pool.instances:
            full = _full(pool, instance)
            queue = _queue(cluster, pool, full)
            if queue is None:
                continue
            yield _bound(cluster, queue, pool, instance, full)
            if instance is max(pool.instances, key=lambda each: pool.tenant_allocatable(each)[CPU]):
                yield from _beyond(cluster, queue, pool, full)


def _full(pool: Pool, instance: InstanceType) -> Amounts:
    """All that the node leaves; of shares one, because a second share of a GPU is no more of it."""
    return {name: 1 if name == SHARED_GPU else amount for name, amount in pool.tenant_allocatable(instance).items()}


def _queue(cluster: Cluster, pool: Pool, full: Amounts) -> ClusterQueue | None:
    for queue in cluster_queues(cluster):
        if pool in queue.pools and expect(cluster, queue, Request(full, pool=pool.name)).verdict == "admitted":
            return queue
    return None


def _bound(cluster: Cluster, queue: ClusterQueue, pool: Pool, instance: InstanceType, full: Amounts) -> Scene:
    request = Request(full, pool=pool.name)
    what = f"a full {instance.type}"
    work = Work(f"full node {queue.name} {pool.name} {what}", queue, request, holds=True)
    return Scene(
        family="full node",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "instances"),
        expected=replace(expect(cluster, queue, request), verdict="bound", borrowed=None),
        play=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=what,
        act=NODES_ACT,
        takes=request,
    )


def _beyond(cluster: Cluster, queue: ClusterQueue, pool: Pool, full: Amounts) -> Iterator[Scene]:
    """A step more than the largest type has of one resource, and little of all others."""
    for resource, step in STEPS.items():
        piece = dict.fromkeys(pool.gpu_resource_names[:1], 1)
        request = Request(SMALL | piece | {resource: full[resource] + step}, pool=pool.name)
        expected = replace(expect(cluster, queue, request), borrowed=None)
        if expected.verdict == "pending" and expected.by == "Karpenter":
            expected = replace(expected, words=NO_NODE)
        what = f"a node and a little {resource}"
        yield Scene(
            family="full node",
            name=f"{queue.name} {pool.name} {what}",
            origin=(*pool.path, "instances"),
            expected=expected,
            play=partial(run, work=Work(f"full node {queue.name} {pool.name} {what}", queue, request)),
            queue=queue.name,
            pool=pool.name,
            request=what,
            act=NODES_ACT,
            takes=request,
        )
