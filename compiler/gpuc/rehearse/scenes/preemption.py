"""Within a queue a high priority takes the place of a low one where the spec says so, and waits where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Share
from gpuc.rehearse.client import condition
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.borrowing import largest
from gpuc.rehearse.scenes.gangs import gangs
from gpuc.rehearse.scenes.jobs import Work
from gpuc.rehearse.scenes.observe import answer, submit
from gpuc.rehearse.session import Rehearsal

IN_QUEUE = "due to prioritization in the ClusterQueue"
PENDING = "Pending the preemption"
"""What work says while others make room for it: no answer yet."""


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Per queue, on the pool where it borrows least: a low gang that has everything, then one pod of high priority."""
    priorities = sorted(cluster.spec.priorities, key=lambda name: cluster.spec.priorities[name])
    if len(priorities) < 2:
        return
    turns: dict[str, int] = {}
    for queue in cluster_queues(cluster):
        share = min(queue.shares, key=lambda each: _borrowable(cluster, queue, each))
        own = next(iter(gangs(share).values()), None)
        if own is None:
            continue
        turn = turns[share.pool.name] = turns.get(share.pool.name, 0) + 1
        low = Work("", queue, largest(cluster, queue, share, own), priorities[0], podless=True)
        high = Work("", queue, replace(own, pods=1), priorities[-1], podless=True)
        yield _scene(cluster, queue, share, low, high, f"preemption {turn}")


def _borrowable(cluster: Cluster, queue: ClusterQueue, share: Share) -> int:
    capacity = Quota(cluster).capacity
    return sum(capacity(queue, share.pool.name, name) - amount for name, amount in share.nominal.items())


def _scene(cluster: Cluster, queue: ClusterQueue, share: Share, low: Work, high: Work, act: str) -> Scene:
    preempts = owner(cluster, queue).spec.preempt.within_queue != "never"
    pool = share.pool.name
    name = f"{queue.name} {pool} {high.priority} after {low.priority}"
    works = [replace(work, name=f"preemption {name} {work.priority}") for work in (low, high)]
    waits = Outcome("refused", by="Kueue", words="insufficient unused quota for")
    return Scene(
        family="preemption",
        name=name,
        origin=(*owner(cluster, queue).path, "preempt"),
        expected=Outcome("preempted", by="Kueue", flavor=pool, words=IN_QUEUE) if preempts else waits,
        play=partial(compete, first=works[0], second=works[1]),
        queue=queue.name,
        pool=pool,
        request=f"one pod of priority {high.priority} while {low.priority} has all",
        act=act,
    )


def compete(rehearsal: Rehearsal, first: Work, second: Work) -> Outcome:
    """Admits the first, submits the second, and says whether the first had to go: with whose flavor and why."""
    early = submit(rehearsal, first)
    if isinstance(early, Outcome):
        return early
    decided = answer(rehearsal, early)
    if decided.verdict != "admitted":
        return replace(decided, words=f"the first was to be admitted: {decided.words}")
    late = submit(rehearsal, second)
    if isinstance(late, Outcome):
        return late
    words = ""

    def settled() -> bool:
        nonlocal words
        words = condition(rehearsal.workload_of(early) or {}, "Preempted").get("message", "")
        reserved = condition(rehearsal.workload_of(late) or {}, "QuotaReserved")
        return reserved.get("status") == "True" or PENDING not in reserved.get("message", PENDING)

    rehearsal.until("who has the place", settled, rehearsal.timeouts.admission_s)
    told = answer(rehearsal, late)
    if not words or told.verdict != "admitted":
        return told
    return Outcome("preempted", by="Kueue", flavor=told.flavor, words=words)
