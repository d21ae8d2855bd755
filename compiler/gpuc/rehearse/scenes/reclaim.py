"""What a queue lent it takes back: the borrower gives way as soon as the owner wants its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, Share
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.borrowing import largest
from gpuc.rehearse.scenes.gangs import gangs
from gpuc.rehearse.scenes.jobs import Work
from gpuc.rehearse.scenes.preemption import compete

IN_COHORT = "due to reclamation within the cohort"


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Per pool and pair of queues: one borrows all that it can, the other submits the largest gang that is its own."""
    turns: dict[str, int] = {}
    for borrower in cluster_queues(cluster):
        for lender in cluster_queues(cluster):
            for share in lender.shares:
                pair = _pair(cluster, borrower, lender, share)
                if pair is not None:
                    turn = turns[share.pool.name] = turns.get(share.pool.name, 0) + 1
                    yield _scene(cluster, share, *pair, f"reclaim {turn}")


def _pair(cluster: Cluster, borrower: ClusterQueue, lender: ClusterQueue, share: Share) -> tuple[Work, Work] | None:
    """What is lent and what is then wanted back; None where the owner has room beside the borrower."""
    own = next((each for each in borrower.shares if each.pool is share.pool), None)
    cohorts = {owner(cluster, queue).spec.cohort for queue in (borrower, lender)}
    if borrower is lender or own is None or None in cohorts or len(cohorts) > 1:
        return None
    takes, wants = (next(iter(gangs(each).values()), None) for each in (own, share))
    if takes is None or wants is None:
        return None
    lent = largest(cluster, borrower, own, takes)
    quota = Quota(cluster)
    quota.hold(borrower.name, share.pool.name, lent.total)
    if all(quota.available(lender, share.pool.name, name) >= amount for name, amount in wants.total.items()):
        return None
    return Work("", borrower, lent, podless=True), Work("", lender, wants, podless=True)


def _scene(cluster: Cluster, share: Share, first: Work, second: Work, act: str) -> Scene:
    pool = share.pool.name
    name = f"{second.queue.name} {pool} lent to {first.queue.name}"
    works = [replace(work, name=f"reclaim {name} {work.queue.name}") for work in (first, second)]
    reclaims = owner(cluster, second.queue).spec.preempt.reclaim == "any"
    waits = Outcome("refused", by="Kueue", words="insufficient unused quota for")
    return Scene(
        family="reclaim",
        name=name,
        origin=(*owner(cluster, second.queue).path, "preempt"),
        expected=Outcome("preempted", by="Kueue", flavor=pool, words=IN_COHORT) if reclaims else waits,
        play=partial(compete, first=works[0], second=works[1]),
        queue=second.queue.name,
        pool=pool,
        request=f"all of its own while {first.queue.name} has borrowed",
        act=act,
    )
