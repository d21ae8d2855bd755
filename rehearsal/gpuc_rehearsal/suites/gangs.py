"""Test cases for the quota of ClusterQueues: gangs within and above the quota, borrowing, preemption and reclaim.

A gang is a Job whose pods start together.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, quantity_text, texts
from gpuc.model import ClusterQueue, PoolQuota
from gpuc.model.names import EFA, HUGEPAGES, is_gpu_resource
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import condition
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.expectation import Quota, admission, cluster_queues, expect, owner
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.suites import Case
from gpuc_rehearsal.suites.jobs import Work, borrowed_amounts, job_case, kueue_decision, submit
from gpuc_rehearsal.suites.jobs import admission as observed_admission

BATCH = "quota"
TINY: Amounts = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""Requests that are too small to exceed a quota."""
PAGE = 2 * MIB
IN_QUEUE = "due to prioritization in the ClusterQueue"
"""A part of the message of a Workload that a Workload of the same ClusterQueue preempts."""
IN_COHORT = "due to reclamation within the cohort"
"""A part of the message of a Workload that another ClusterQueue preempts to reclaim quota."""
PENDING = "Pending the preemption"
"""A part of the message of a Workload while Kueue preempts other Workloads for it."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields, for each ClusterQueue and pool, the largest gangs that fit, and one refused gang for each resource."""
    for queue in cluster_queues(spec.cluster):
        for pool_quota in queue.pool_quotas:
            for resource, gang in gangs(pool_quota).items():
                name, expected = resource or CPU, admission(spec, queue, gang)
                description = f"{gang.pods} pods with {quantity_text(name, gang.pod[name])} {name}"
                work = Work("", queue, gang, without_pods=True)
                yield job_case("gangs", work, description, pool_quota.path, expected, BATCH, borrowed_amounts)
            for resource in pool_quota.nominal:
                if (request := refused_request(spec, queue, pool_quota, resource)) is not None:
                    size, expected = quantity_text(resource, request.total[resource]), expect(spec, queue, request)
                    description = f"{size} {resource}, more than the maximum"
                    work = Work("", queue, request, without_pods=True)
                    yield job_case("gangs", work, description, pool_quota.path, expected, BATCH, observed_admission)


def gangs(pool_quota: PoolQuota) -> dict[str, Request]:
    """Returns the largest gang (pods that start together) within the nominal quota, by GPU resource.

    In a pool with exclusive GPUs, a pod requests a full node. In other pools, a pod requests one MIG slice or GPU
    share, and the same fraction of the cpu and memory of a node.
    """
    pool = pool_quota.pool
    if pool.sharing is None or pool.sharing.mode == "exclusive":
        pods = {pool.gpu_resource_names[0] if pool.sharing else "": dict(pool.node)}
    else:
        pods = pool.portions
    counts = {
        resource: min(pool_quota.nominal[name] // amount for name, amount in pod.items() if amount)
        for resource, pod in pods.items()
    }
    return {resource: Request(pods[resource], count, pool.name) for resource, count in counts.items() if count}


def refused_request(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, resource: str) -> Request | None:
    """Returns the smallest request that exceeds the maximum quota of a ClusterQueue for one resource only.

    The result is None if each such request also exceeds the quota of another resource.
    """
    pool, quota = pool_quota.pool, Quota(spec)
    maximum = quota.available(queue, pool.name, resource)
    gpu = dict.fromkeys(pool.gpu_resource_names[:1], 1)
    if not is_gpu_resource(resource) and resource != EFA:
        step = PAGE if resource == HUGEPAGES else 1
        return Request(TINY | gpu | {resource: maximum + step}, pool=pool.name)
    largest = 1 if resource.endswith("shared") else pool.node[resource]
    for total in range(maximum + 1, maximum + largest + 1):
        for per_pod in range(largest, 0, -1):
            pod = TINY | (gpu if resource == EFA else {}) | {resource: per_pod}
            pods = total // per_pod
            request = Request(pod, pods, pool.name)
            if total % per_pod == 0 and all(
                amount <= quota.available(queue, pool.name, name)
                for name, amount in request.total.items()
                if name != resource
            ):
                return request
    return None


def borrowing(spec: CompiledSpec) -> Iterator[Case]:
    """Yields a test case for each ClusterQueue, pool and GPU resource: the largest request that borrows quota.

    Each GPU resource of a ClusterQueue has a batch of its own, because the status of the ClusterQueue contains only the
    sum of all borrowed amounts. The suite `gangs` tests that a larger request is refused.
    """
    for queue in cluster_queues(spec.cluster):
        for pool_quota in queue.pool_quotas:
            for number, (resource, nominal) in enumerate(gangs(pool_quota).items(), 1):
                request = largest_gang(spec, queue, pool_quota, nominal)
                if request.pods > nominal.pods:
                    name, expected = resource or CPU, admission(spec, queue, request)
                    description = f"{request.pods} pods with {texts(request.pod)[name]} {name}"
                    work, origin = Work("", queue, request, without_pods=True), (*pool_quota.path, "borrow")
                    batch = f"borrowing {number}"
                    yield job_case("borrowing", work, description, origin, expected, batch, borrowed_amounts)


def largest_gang(spec: CompiledSpec, queue: ClusterQueue, pool_quota: PoolQuota, nominal: Request) -> Request:
    """Returns the largest gang (pods that start together) that a ClusterQueue admits with its own and borrowed quota.

    nominal: the largest gang that needs only the nominal quota.
    """
    available, pool = Quota(spec).available, pool_quota.pool.name
    amounts = nominal.pod_with_defaults.items()
    return replace(nominal, pods=min(available(queue, pool, name) // amount for name, amount in amounts if amount))


def preemption(spec: CompiledSpec) -> Iterator[Case]:
    """Yields a test case for each ClusterQueue: a Job of low priority uses all quota; a pod of high priority follows.

    The pod preempts the Job, unless the spec forbids preemption. The test case uses the pool from which the
    ClusterQueue can borrow least.
    """
    priorities = sorted(spec.cluster.spec.priorities, key=lambda name: spec.cluster.spec.priorities[name].value)
    if len(priorities) < 2:
        return
    low, high, numbers = priorities[0], priorities[-1], Counter[str]()
    available = Quota(spec).available

    def borrowable(queue: ClusterQueue, pool_quota: PoolQuota) -> int:
        pool, nominal = pool_quota.pool.name, pool_quota.nominal
        return sum(available(queue, pool, name) - amount for name, amount in nominal.items())

    for queue in cluster_queues(spec.cluster):
        pool_quota = min(queue.pool_quotas, key=partial(borrowable, queue))
        nominal = next(iter(gangs(pool_quota).values()), None)
        if nominal is None:
            continue
        pool = pool_quota.pool.name
        numbers[pool] += 1
        first = Work(low, queue, largest_gang(spec, queue, pool_quota, nominal), low, without_pods=True)
        second = Work(high, queue, replace(nominal, pods=1), high, without_pods=True)
        name, preempts = f"{queue.name} {pool} {high} after {low}", owner(spec.cluster, queue).spec.preempt.within_queue
        request = f"one pod of priority {high} while priority {low} uses all quota"
        message = IN_QUEUE if preempts != "never" else ""
        yield _competing(spec, (first, second), name, message, request, f"preemption {numbers[pool]}")


def reclaim(spec: CompiledSpec) -> Iterator[Case]:
    """Yields a test case for each pool and each pair of ClusterQueues: a queue needs the quota that it lent.

    The first ClusterQueue borrows as much as possible. Then the second, which lent the quota, submits its
    largest Job. If the spec allows this, Kueue preempts the Job of the first ClusterQueue.
    """
    numbers: Counter[str] = Counter()
    for borrower in cluster_queues(spec.cluster):
        for lender in cluster_queues(spec.cluster):
            for pool_quota in lender.pool_quotas:
                pool = pool_quota.pool.name
                if pair := _job_pair(spec, borrower, lender, pool_quota):
                    numbers[pool] += 1
                    reclaims = owner(spec.cluster, lender).spec.preempt.reclaim == "any"
                    name, message = f"{lender.name} {pool} lent to {borrower.name}", IN_COHORT if reclaims else ""
                    request = f"all nominal quota while ClusterQueue {borrower.name} borrows"
                    yield _competing(spec, pair, name, message, request, f"reclaim {numbers[pool]}")


def _job_pair(
    spec: CompiledSpec, borrower: ClusterQueue, lender: ClusterQueue, pool_quota: PoolQuota
) -> tuple[Work, Work] | None:
    """Returns the Jobs of the borrower and of the lender; None if the lender's Job needs no reclaim."""
    borrower_quota = next((candidate for candidate in borrower.pool_quotas if candidate.pool is pool_quota.pool), None)
    cohorts = {owner(spec.cluster, queue).spec.cohort for queue in (borrower, lender)}
    if borrower is lender or borrower_quota is None or None in cohorts or len(cohorts) > 1:
        return None
    borrower_gang, lender_gang = (
        next(iter(gangs(candidate).values()), None) for candidate in (borrower_quota, pool_quota)
    )
    if borrower_gang is None or lender_gang is None:
        return None
    borrowing_gang = largest_gang(spec, borrower, borrower_quota, borrower_gang)
    quota, pool = Quota(spec), pool_quota.pool.name
    quota.add_usage(borrower.name, pool, borrowing_gang.total)
    if all(quota.available(lender, pool, name) >= amount for name, amount in lender_gang.total.items()):
        return None
    first = Work(borrower.name, borrower, borrowing_gang, without_pods=True)
    return first, Work(lender.name, lender, lender_gang, without_pods=True)


def _competing(
    spec: CompiledSpec, pair: tuple[Work, Work], name: str, preempted: str, request: str, batch: str
) -> Case:
    """Returns a test case whose second Job preempts the first one.

    preempted: a part of the message of the preempted Workload; empty if Kueue must refuse the second Job.
    """
    suite, queue, pool = batch.partition(" ")[0], pair[1].queue, pair[1].request.pool
    first, second = (replace(work, name=f"{suite} {name} {work.name}") for work in pair)
    expected = Outcome("preempted", by="Kueue", flavor=pool, message=preempted)
    if not preempted:
        expected = Outcome("refused", by="Kueue", message="insufficient unused quota for")
    origin, action = (*owner(spec.cluster, queue).path, "preempt"), partial(_compete, first=first, second=second)
    return Case(suite, name, origin, expected, action, queue.name, pool, request, batch)


def _compete(context: RehearsalContext, first: Work, second: Work) -> Outcome:
    """Submits the second Job after Kueue has admitted the first, and returns whether the second Job preempts the first.

    Returns preempted with the message of the first Workload, otherwise Kueue's decision about the second Job.
    """
    first_job = submit(context, first)
    first_decision = kueue_decision(context, first_job)
    if first_decision.verdict != "admitted":
        return replace(first_decision, message=f"the first Job must be admitted: {first_decision.message}")
    second_job = submit(context, second)

    def settled() -> tuple[str] | None:
        preempted = condition(context.workload_of(first_job) or {}, "Preempted").get("message", "")
        reserved = condition(context.workload_of(second_job) or {}, "QuotaReserved")
        is_settled = reserved.get("status") == "True" or PENDING not in reserved.get("message", PENDING)
        return (preempted,) if is_settled else None

    (message,) = context.until("Kueue's decision about preemption", settled, context.timeouts.admission_s)
    second_decision = kueue_decision(context, second_job)
    if not message or second_decision.verdict != "admitted":
        return second_decision
    return Outcome("preempted", by="Kueue", flavor=second_decision.flavor, message=message)
