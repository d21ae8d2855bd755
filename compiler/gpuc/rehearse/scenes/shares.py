"""Each kind of share, counted on nodes: as many as a node advertises are on one, one more needs a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.jobs import Work
from gpuc.rehearse.scenes.observe import answer, placed, run, submit
from gpuc.rehearse.session import Rehearsal

FULL, BEYOND = "one node of shares", "two nodes of shares"
"""All kinds of a pool at once: a node has room for the full count of each."""


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Whole GPUs, MIG slices, time-sliced and MPS shares of every pool, each with its part of the node."""
    for pool in cluster.gpu_pools:
        queue = next((each for each in cluster_queues(cluster) if pool in each.pools), None)
        if queue is None:
            continue
        for resource, pod in pool.portions.items():
            full, beyond = (Request(pod, pool.node[resource] + more, pool.name) for more in (0, 1))
            if all(expect(cluster, queue, each).verdict == "admitted" for each in (full, beyond)):
                yield _scene(cluster, queue, pool, resource, beyond, FULL, full)
            else:
                yield _scene(cluster, queue, pool, resource, full, FULL)
                yield _scene(cluster, queue, pool, resource, beyond, BEYOND)


def _scene(
    cluster: Cluster,
    queue: ClusterQueue,
    pool: Pool,
    resource: str,
    request: Request,
    act: str,
    first: Request | None = None,
) -> Scene:
    """All pods of a request; where some of them are named, those come first and the rest when they have their node."""
    expected = expect(cluster, queue, request)
    if expected.verdict == "admitted":
        # On the nodes of a static pool, which are there already, pods may spread.
        expected = replace(expected, verdict="bound", borrowed=None, nodes=None if pool.is_static else expected.nodes)
    if first is None:
        what = f"{request.pods} pods with one {resource}"
        play = partial(run, work=Work(f"shares {queue.name} {pool.name} {what}", queue, request, holds=True))
    else:
        what = f"{first.pods} pods with one {resource}, and one more"
        name = f"shares {queue.name} {pool.name} {what}"
        rest = replace(first, pods=request.pods - first.pods)
        works = [Work(f"{name} {turn}", queue, each, holds=True) for turn, each in enumerate((first, rest))]
        play = partial(fill, works=works, nodes=None if pool.is_static else 1)
    return Scene(
        family="shares",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "sharing"),
        expected=expected,
        play=play,
        queue=queue.name,
        pool=pool.name,
        request=what,
        act=act,
        takes=request,
    )


def fill(rehearsal: Rehearsal, works: list[Work], nodes: int | None) -> Outcome:
    """Submits work after work, each when the pods of the one before are bound, and counts the nodes of all.

    nodes is how many the first may take; None where nobody counts.
    """
    names: set[str] = set()
    for work in works:
        made = submit(rehearsal, work)
        if isinstance(made, Outcome):
            return made
        decided = answer(rehearsal, made)
        if decided.verdict != "admitted":
            return decided
        seen = placed(rehearsal, made, work, decided)
        if seen.verdict != "bound":
            return seen
        names |= {pod["spec"]["nodeName"] for pod in rehearsal.pods_of(made)}
        if work is works[0] and nodes not in (None, len(names)):
            return replace(seen, verdict="unanswered", words=f"the first {work.request.pods} took {len(names)} nodes")
    return replace(seen, nodes=len(names))
