"""Test cases for GPU slices and shares: a node runs as many pods as it advertises, one more pod needs a second node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import kueue_decision, placed, run, submit

FULL, BEYOND = "one node of shares", "two nodes of shares"
"""Batches. All resources of a pool can be in one batch: a node has room for the full count of each of them."""


def cases(cluster: Cluster) -> Iterator[Case]:
    """Complete GPUs, MIG slices, time-slicing and MPS shares of every pool, with their fraction of cpu and memory."""
    for pool in cluster.gpu_pools:
        queue = next((queue for queue in cluster_queues(cluster) if pool in queue.pools), None)
        if queue is None:
            continue
        for resource, pod in pool.portions.items():
            full, beyond = (Request(pod, pool.node[resource] + more, pool.name) for more in (0, 1))
            if all(expect(cluster, queue, request).verdict == "admitted" for request in (full, beyond)):
                yield _case(cluster, queue, pool, resource, beyond, FULL, full)
            else:
                yield _case(cluster, queue, pool, resource, full, FULL)
                yield _case(cluster, queue, pool, resource, beyond, BEYOND)


def _case(
    cluster: Cluster,
    queue: ClusterQueue,
    pool: Pool,
    resource: str,
    request: Request,
    batch: str,
    first: Request | None = None,
) -> Case:
    """A test case with all pods of a request. If `first` is given, its pods start first and fill a node."""
    expected = expect(cluster, queue, request)
    if expected.verdict == "admitted":
        # The nodes of a static pool exist already, so pods may spread over them.
        expected = replace(expected, verdict="bound", borrowed=None, nodes=None if pool.is_static else expected.nodes)
    if first is None:
        what = f"{request.pods} pods with one {resource}"
        action = partial(run, work=Work(f"shares {queue.name} {pool.name} {what}", queue, request, keeps_running=True))
    else:
        what = f"{first.pods} pods with one {resource}, and one more"
        name = f"shares {queue.name} {pool.name} {what}"
        rest = replace(first, pods=request.pods - first.pods)
        works = [Work(f"{name} {number}", queue, part, keeps_running=True) for number, part in enumerate((first, rest))]
        action = partial(fill, works=works, nodes=None if pool.is_static else 1)
    return Case(
        suite="shares",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "sharing"),
        expected=expected,
        action=action,
        queue=queue.name,
        pool=pool.name,
        request=what,
        batch=batch,
        demand=request,
    )


def fill(context: RehearsalContext, works: list[Work], nodes: int | None) -> Outcome:
    """Submits Jobs one after another, waits until the pods of a Job are bound, and counts the nodes of all Jobs.

    nodes is the expected number of nodes for the first Job; None if any number is allowed.
    """
    names: set[str] = set()
    for work in works:
        made = submit(context, work)
        if isinstance(made, Outcome):
            return made
        decided = kueue_decision(context, made)
        if decided.verdict != "admitted":
            return decided
        actual = placed(context, made, work, decided)
        if actual.verdict != "bound":
            return actual
        names |= {pod["spec"]["nodeName"] for pod in context.pods_of(made)}
        if work is works[0] and nodes not in (None, len(names)):
            return replace(
                actual, verdict="unanswered", message=f"the first {work.request.pods} took {len(names)} nodes"
            )
    return replace(actual, nodes=len(names))
