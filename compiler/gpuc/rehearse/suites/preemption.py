"""Test cases for preemption within a queue: a high priority preempts a low one, unless the spec forbids preemption."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import Cluster, ClusterQueue, PoolQuota
from gpuc.rehearse.client import condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.borrowing import largest
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import kueue_decision, submit

IN_QUEUE = "due to prioritization in the ClusterQueue"
PENDING = "Pending the preemption"
"""A part of the message of a workload that waits for the preemption of others: Kueue has not decided yet."""


def cases(cluster: Cluster) -> Iterator[Case]:
    """For each queue, on the pool with the least to borrow: a low-priority gang that uses all quota, then one pod of
    high priority."""
    priorities = sorted(cluster.spec.priorities, key=lambda name: cluster.spec.priorities[name])
    if len(priorities) < 2:
        return
    numbers: dict[str, int] = {}
    for queue in cluster_queues(cluster):
        pool_quota = min(queue.pool_quotas, key=lambda pool_quota: _borrowable(cluster, queue, pool_quota))
        own = next(iter(gangs(pool_quota).values()), None)
        if own is None:
            continue
        number = numbers[pool_quota.pool.name] = numbers.get(pool_quota.pool.name, 0) + 1
        low = Work("", queue, largest(cluster, queue, pool_quota, own), priorities[0], without_pods=True)
        high = Work("", queue, replace(own, pods=1), priorities[-1], without_pods=True)
        yield _case(cluster, queue, pool_quota, low, high, f"preemption {number}")


def _borrowable(cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota) -> int:
    capacity = Quota(cluster).capacity
    return sum(capacity(queue, pool_quota.pool.name, name) - amount for name, amount in pool_quota.nominal.items())


def _case(cluster: Cluster, queue: ClusterQueue, pool_quota: PoolQuota, low: Work, high: Work, batch: str) -> Case:
    preempts = owner(cluster, queue).spec.preempt.within_queue != "never"
    pool = pool_quota.pool.name
    name = f"{queue.name} {pool} {high.priority} after {low.priority}"
    works = [replace(work, name=f"preemption {name} {work.priority}") for work in (low, high)]
    waits = Outcome("refused", by="Kueue", message="insufficient unused quota for")
    return Case(
        suite="preemption",
        name=name,
        origin=(*owner(cluster, queue).path, "preempt"),
        expected=Outcome("preempted", by="Kueue", flavor=pool, message=IN_QUEUE) if preempts else waits,
        action=partial(compete, first=works[0], second=works[1]),
        queue=queue.name,
        pool=pool,
        request=f"one pod of priority {high.priority} while {low.priority} has all",
        batch=batch,
    )


def compete(context: RehearsalContext, first: Work, second: Work) -> Outcome:
    """Waits until the first Job is admitted, submits the second, and returns whether the second preempts the first."""
    early = submit(context, first)
    if isinstance(early, Outcome):
        return early
    decided = kueue_decision(context, early)
    if decided.verdict != "admitted":
        return replace(decided, message=f"the first Job must be admitted: {decided.message}")
    late = submit(context, second)
    if isinstance(late, Outcome):
        return late
    message = ""

    def settled() -> bool:
        nonlocal message
        message = condition(context.workload_of(early) or {}, "Preempted").get("message", "")
        reserved = condition(context.workload_of(late) or {}, "QuotaReserved")
        return reserved.get("status") == "True" or PENDING not in reserved.get("message", PENDING)

    context.until("Kueue's decision about preemption", settled, context.timeouts.admission_s)
    decision = kueue_decision(context, late)
    if not message or decision.verdict != "admitted":
        return decision
    return Outcome("preempted", by="Kueue", flavor=decision.flavor, message=message)
