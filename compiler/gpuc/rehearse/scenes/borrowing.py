"""A queue takes what others lend, up to its limit, and its status says how much; a unit more is refused by gangs.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import CPU, texts
from gpuc.model import Cluster, ClusterQueue, Share
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.gangs import gangs
from gpuc.rehearse.scenes.jobs import Work
from gpuc.rehearse.scenes.observe import borrowing


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Per queue, pool and kind of piece: all that it can have at once, where that is more than its own.

    A queue's status adds up what is borrowed, so each kind has an act.
    """
    for queue in cluster_queues(cluster):
        for share in queue.shares:
            for kind, (resource, own) in enumerate(gangs(share).items(), 1):
                request = largest(cluster, queue, share, own)
                if request.pods > own.pods:
                    yield _scene(cluster, queue, share, resource or CPU, request, f"borrowing {kind}")


def largest(cluster: Cluster, queue: ClusterQueue, share: Share, own: Request) -> Request:
    """The largest gang of such pods that a queue can ever have, with what others lend."""
    quota = Quota(cluster)
    most = min(quota.capacity(queue, share.pool.name, name) // amount for name, amount in own.asked.items() if amount)
    return replace(own, pods=most)


def _scene(cluster: Cluster, queue: ClusterQueue, share: Share, resource: str, request: Request, act: str) -> Scene:
    pool = share.pool.name
    answer = expect(cluster, queue, request)
    what = f"{request.pods} pods with {texts(request.pod)[resource]} {resource}"
    work = Work(f"borrowing {queue.name} {pool} {what}", queue, request, podless=True)
    return Scene(
        family="borrowing",
        name=f"{queue.name} {pool} {what}",
        origin=(*share.path, "borrow"),
        expected=Outcome("admitted", flavor=answer.flavor, borrowed=answer.borrowed),
        play=partial(borrowing, work=work),
        queue=queue.name,
        pool=pool,
        request=what,
        act=act,
        takes=request,
    )
