"""Test cases for full nodes: a pod that requests all allocatable resources is bound, a larger pod stays pending."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model import ClusterQueue, Pool
from gpuc.model.names import SHARED_GPU
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.suites import NODES_BATCH, Case
from gpuc.rehearse.suites.jobs import SMALL, Work
from gpuc.rehearse.suites.observe import run

STEPS = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""By resource, the smallest amount by which a request exceeds a node. Policies limit all other resources."""
NO_NODE = "no instance type has enough resources"
"""A part of Karpenter's message for a pod that fits no instance type of its pool."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields requests for a full node of every pool and instance type, and for more than the largest node of a pool.

    The requests use the first ClusterQueue with enough quota.
    """
    for pool in spec.cluster.pools:
        for instance in pool.instances:
            full = _full_node(pool, instance)
            queue = _first_queue(spec, pool, full)
            if queue is None:
                continue
            yield _full_case(spec, queue, pool, instance, full)
            if instance is max(pool.instances, key=lambda candidate: pool.tenant_allocatable(candidate)[CPU]):
                yield from _too_large_cases(spec, queue, pool, full)


def _full_node(pool: Pool, instance: InstanceType) -> Amounts:
    """Returns all resources of a node, but only one GPU share, because a second share of a GPU adds no compute."""
    return {name: 1 if name == SHARED_GPU else amount for name, amount in pool.tenant_allocatable(instance).items()}


def _first_queue(spec: CompiledSpec, pool: Pool, full: Amounts) -> ClusterQueue | None:
    for queue in cluster_queues(spec.cluster):
        if pool in queue.pools and expect(spec, queue, Request(full, pool=pool.name)).verdict == "admitted":
            return queue
    return None


def _full_case(spec: CompiledSpec, queue: ClusterQueue, pool: Pool, instance: InstanceType, full: Amounts) -> Case:
    request = Request(full, pool=pool.name)
    description = f"a full {instance.type}"
    work = Work(f"full node {queue.name} {pool.name} {description}", queue, request, keeps_running=True)
    return Case(
        suite="full node",
        name=f"{queue.name} {pool.name} {description}",
        origin=(*pool.path, "instances"),
        expected=replace(expect(spec, queue, request), verdict="bound", borrowed=None),
        action=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=description,
        batch=NODES_BATCH,
        demand=request,
    )


def _too_large_cases(spec: CompiledSpec, queue: ClusterQueue, pool: Pool, full: Amounts) -> Iterator[Case]:
    """Yields test cases that request more of one resource than the largest node has, and little of all others."""
    for resource, step in STEPS.items():
        gpu = dict.fromkeys(pool.gpu_resource_names[:1], 1)
        request = Request(SMALL | gpu | {resource: full[resource] + step}, pool=pool.name)
        expected = replace(expect(spec, queue, request), borrowed=None)
        if expected.verdict == "pending" and expected.by == "Karpenter":
            expected = replace(expected, message=NO_NODE)
        description = f"a little more {resource} than a node"
        yield Case(
            suite="full node",
            name=f"{queue.name} {pool.name} {description}",
            origin=(*pool.path, "instances"),
            expected=expected,
            action=partial(run, work=Work(f"full node {queue.name} {pool.name} {description}", queue, request)),
            queue=queue.name,
            pool=pool.name,
            request=description,
            batch=NODES_BATCH,
            demand=request,
        )
