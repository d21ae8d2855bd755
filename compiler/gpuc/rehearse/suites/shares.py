"""Test cases for GPU slices and shares: pods fill a node, and one more pod needs a second node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import ClusterQueue, Pool
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import kueue_decision, placed, run, submit

FULL, BEYOND = "one node of shares", "two nodes of shares"
"""Names of batches. Test cases for all resources of a pool can be in one batch: every resource can fill the node."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for the GPUs, MIG slices and shares of every pool, with a fraction of the cpu and memory."""
    for pool in spec.cluster.gpu_pools:
        queue = next((queue for queue in cluster_queues(spec.cluster) if pool in queue.pools), None)
        if queue is None:
            continue
        for resource, pod in pool.portions.items():
            full, beyond = (Request(pod, pool.node[resource] + extra, pool.name) for extra in (0, 1))
            if all(expect(spec, queue, request).verdict == "admitted" for request in (full, beyond)):
                yield _case(spec, queue, pool, resource, beyond, FULL, full)
            else:
                yield _case(spec, queue, pool, resource, full, FULL)
                yield _case(spec, queue, pool, resource, beyond, BEYOND)


def _case(
    spec: CompiledSpec,
    queue: ClusterQueue,
    pool: Pool,
    resource: str,
    request: Request,
    batch: str,
    first: Request | None = None,
) -> Case:
    """Returns a test case with all pods of a request. The pods of `first` start first and fill a node."""
    expected = expect(spec, queue, request)
    if expected.verdict == "admitted":
        # Some nodes may exist already, so pods may spread over them.
        nodes = None if pool.always_running else expected.nodes
        expected = replace(expected, verdict="bound", borrowed=None, nodes=nodes)
    if first is None:
        description = f"{request.pods} pods with one {resource}"
        action = partial(
            run, work=Work(f"shares {queue.name} {pool.name} {description}", queue, request, keeps_running=True)
        )
    else:
        description = f"{first.pods} pods with one {resource}, and one more"
        name = f"shares {queue.name} {pool.name} {description}"
        rest = replace(first, pods=request.pods - first.pods)
        jobs = [
            Work(f"{name} {number}", queue, request_part, keeps_running=True)
            for number, request_part in enumerate((first, rest))
        ]
        action = partial(fill, jobs=jobs, nodes=None if pool.always_running else 1)
    return Case(
        suite="shares",
        name=f"{queue.name} {pool.name} {description}",
        origin=(*pool.path, "sharing"),
        expected=expected,
        action=action,
        queue=queue.name,
        pool=pool.name,
        request=description,
        batch=batch,
        demand=request,
    )


def fill(context: RehearsalContext, jobs: list[Work], nodes: int | None) -> Outcome:
    """Submits Jobs one after another, waits until the pods of each Job are bound, and counts the nodes of all Jobs.

    nodes: the expected number of nodes for the first Job; None for any number.
    """
    node_names: set[str] = set()
    for work in jobs:
        job = submit(context, work)
        if isinstance(job, Outcome):
            return job
        decision = kueue_decision(context, job)
        if decision.verdict != "admitted":
            return decision
        actual = placed(context, job, work, decision)
        if actual.verdict != "bound":
            return actual
        node_names |= {pod["spec"]["nodeName"] for pod in context.pods_of(job)}
        if work is jobs[0] and nodes not in (None, len(node_names)):
            return replace(
                actual,
                verdict="unanswered",
                message=f"the first {work.request.pods} pods run on {len(node_names)} nodes",
            )
    return replace(actual, nodes=len(node_names))
