"""Test cases for preemption within a queue: high priority preempts low priority, unless the spec forbids preemption."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.model import ClusterQueue, PoolQuota
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.borrowing import largest_gang
from gpuc.rehearse.suites.gangs import gangs
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import kueue_decision, submit

IN_QUEUE = "due to prioritization in the ClusterQueue"
"""A part of the message of a Workload that a Workload of the same ClusterQueue preempts."""
PENDING = "Pending the preemption"
"""A part of the message of a Workload while Kueue preempts other Workloads for it."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields for each ClusterQueue a low-priority gang that uses all quota, then one pod of high priority.

    The test case uses the pool from which the ClusterQueue can borrow least.
    """
    priorities = sorted(spec.cluster.spec.priorities, key=lambda name: spec.cluster.spec.priorities[name])
    if len(priorities) < 2:
        return
    numbers: dict[str, int] = {}
    for queue in cluster_queues(spec.cluster):
        pool_quota = min(queue.pool_quotas, key=lambda pool_quota: _borrowable(spec, queue, pool_quota))
        nominal = next(iter(gangs(pool_quota).values()), None)
        if nominal is None:
            continue
        number = numbers[pool_quota.pool.name] = numbers.get(pool_quota.pool.name, 0) + 1
        low = Work("", queue, largest_gang(spec, queue, pool_quota, nominal), priorities[0], without_pods=True)
        high = Work("", queue, replace(nominal, pods=1), priorities[-1], without_pods=True)
        yield _case(spec, queue, pool_quota, low, high, f"preemption {number}")


def _borrowable(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota) -> int:
    """Returns the sum of the amounts that a ClusterQueue can borrow of a pool."""
    available = Quota(spec).available
    return sum(available(queue, pool_quota.pool.name, name) - amount for name, amount in pool_quota.nominal.items())


def _case(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, low: Work, high: Work, batch: str) -> Case:
    preempts = owner(spec.cluster, queue).spec.preempt.within_queue != "never"
    pool = pool_quota.pool.name
    name = f"{queue.name} {pool} {high.priority} after {low.priority}"
    jobs = [replace(work, name=f"preemption {name} {work.priority}") for work in (low, high)]
    refused = Outcome("refused", by="Kueue", message="insufficient unused quota for")
    return Case(
        suite="preemption",
        name=name,
        origin=(*owner(spec.cluster, queue).path, "preempt"),
        expected=Outcome("preempted", by="Kueue", flavor=pool, message=IN_QUEUE) if preempts else refused,
        action=partial(compete, first=jobs[0], second=jobs[1]),
        queue=queue.name,
        pool=pool,
        request=f"one pod of priority {high.priority} while priority {low.priority} uses all quota",
        batch=batch,
    )


def compete(context: RehearsalContext, first: Work, second: Work) -> Outcome:
    """Submits the second Job after Kueue has admitted the first, and returns whether the second Job preempts the first.

    Returns preempted with the message of the first Workload, otherwise Kueue's decision about the second Job.
    """
    first_job = submit(context, first)
    if isinstance(first_job, Outcome):
        return first_job
    first_decision = kueue_decision(context, first_job)
    if first_decision.verdict != "admitted":
        return replace(first_decision, message=f"the first Job must be admitted: {first_decision.message}")
    second_job = submit(context, second)
    if isinstance(second_job, Outcome):
        return second_job
    message = ""

    def is_settled() -> bool:
        nonlocal message
        message = condition(context.workload_of(first_job) or {}, "Preempted").get("message", "")
        reserved = condition(context.workload_of(second_job) or {}, "QuotaReserved")
        return reserved.get("status") == "True" or PENDING not in reserved.get("message", PENDING)

    context.until("Kueue's decision about preemption", is_settled, context.timeouts.admission_s)
    second_decision = kueue_decision(context, second_job)
    if not message or second_decision.verdict != "admitted":
        return second_decision
    return Outcome("preempted", by="Kueue", flavor=second_decision.flavor, message=message)
