"""Runs test cases batch by batch, and compares the actual outcomes with the expected outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import ceil

from gpuc.kubernetes.amounts import Amounts, total
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model import ClusterQueue, Pool
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.client import ApiError, WaitError
from gpuc_rehearsal.context import CACHE_SECONDS, RehearsalContext
from gpuc_rehearsal.expectation import Quota, cluster_queues, expect, owner
from gpuc_rehearsal.outcome import Outcome, Request, agrees, refused
from gpuc_rehearsal.suites import Case

HALF = 0.5
MAX_PARALLEL = 200
"""Maximum number of test cases that run at the same time."""


@dataclass
class Batch:
    """Test cases that run at the same time, and their total demand of quota and nodes."""

    quota: Quota
    cases: list[Case] = field(default_factory=list)
    work: dict[str, tuple[Request, ...]] = field(default_factory=dict)
    """Requests by the name of the node pool on which their pods run."""
    refused: list[tuple[ClusterQueue, Request, Outcome]] = field(default_factory=list)
    """(ClusterQueue, request, expected outcome) for every request that Kueue must refuse."""
    blocked_queues: set[str] = field(default_factory=set)
    """ClusterQueues with StrictFIFO and a refused request: Kueue admits no later request of these ClusterQueues."""
    queues_with_requests: set[str] = field(default_factory=set)

    def add(self, case: Case) -> bool:
        """Adds a test case unless an outcome would change; returns whether the test case was added."""
        is_added = case.demand is None or self._reserve(case.queue, case.demand)
        if is_added:
            self.cases.append(case)
        return is_added

    def _reserve(self, name: str, request: Request) -> bool:
        """Adds a request to the demand unless an outcome would change; returns whether the request was added."""
        spec = self.quota.spec
        queue = next(queue for queue in cluster_queues(spec.cluster) if queue.name == name)
        expected = expect(spec, queue, request)
        refused = expected.verdict == "refused"
        strict = owner(spec.cluster, queue).spec.strategy == "strict"
        if queue.name in self.blocked_queues or (strict and refused and queue.name in self.queues_with_requests):
            return False
        quota, work = Quota(spec, dict(self.quota.usage)), dict(self.work)
        if not refused:
            pool = next(pool for pool in queue.pools if pool.name == expected.flavor)
            if expected.verdict != "pending":
                work[pool.name] = (*self.work.get(pool.name, ()), request)
            if pool.name in self.work and _max_nodes(pool, work.get(pool.name, ())) > pool.nodes_max:
                return False
            quota.add_usage(queue.name, pool.name, request.total)
        if expect(spec, queue, request, self.quota.usage) != expected:
            return False
        # The usage of one flavor changes no decision about requests for the node pool of another flavor.
        affected = [row for row in self.refused if not refused and row[1].pool in ("", expected.flavor)]
        if any(expect(spec, other, row, quota.usage) != outcome for other, row, outcome in affected):
            return False
        self.quota, self.work = quota, work
        if refused:
            self.refused.append((queue, request, expected))
        self.queues_with_requests.add(queue.name)
        if strict and refused:
            self.blocked_queues.add(queue.name)
        return True


def schedule(spec: CompiledSpec, cases: Iterable[Case]) -> list[list[Case]]:
    """Returns the batches in the order of the run.

    Test cases with the same batch name are in one batch, unless they would change each other's outcome.
    """
    batches: dict[str, list[Batch]] = {}
    for case in cases:
        of_name = batches.setdefault(case.batch or case.suite, [])
        if not any(batch.add(case) for batch in of_name):
            of_name.append(Batch(Quota(spec)))
            of_name[-1].add(case)
    return [batch.cases for of_name in batches.values() for batch in of_name]


def _max_nodes(pool: Pool, work: Iterable[Request]) -> int:
    """Returns the maximum number of nodes that requests need.

    A pod that requests more than half of a node needs a separate node; smaller pods run together. If a batch has both,
    the small pods may need one more node, because the autoscaler starts nodes as the pods arrive.
    """
    requests = list(work)
    large = [request for request in requests if _node_fraction(pool, request.pod) > HALF]
    small = total(request.total for request in requests if request not in large)
    extra_node = 1 if large and small else 0
    return sum(request.pods for request in large) + ceil(_node_fraction(pool, small)) + extra_node


def _node_fraction(pool: Pool, amounts: Amounts) -> float:
    """Returns the fraction of a node that the amounts use: the maximum over all resources."""
    return max((amount / pool.node[name] for name, amount in amounts.items() if pool.node.get(name)), default=0)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A test case with its actual outcome."""

    case: Case
    actual: Outcome
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the actual outcome agrees with the expected outcome."""
        return agrees(self.case.expected, self.actual)


def run_cases(
    context: RehearsalContext, cases: Iterable[Case], progress: Callable[[CaseResult], None]
) -> list[CaseResult]:
    """Runs all test cases, and deletes their objects after each batch.

    progress: receives the result after every test case.
    """
    slow = replace(context, poll_s=CACHE_SECONDS)
    static = {pool.scaling.static_node_pool for pool in context.cluster.pools if pool.scaling}
    autoscaler = autoscaler_of(context.cluster)
    results: list[CaseResult] = []
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        for batch in schedule(context.spec, cases):
            results += pool.map(lambda case: _run(slow, case, progress), batch)
            # The nodes of static NodePools stay.
            claims = context.client.list_all(*autoscaler.claim) if autoscaler else ()
            slow.clear(nodes=any(claim["metadata"]["labels"][NODE_POOL] not in static for claim in claims))
    return results


def _run(context: RehearsalContext, case: Case, progress: Callable[[CaseResult], None]) -> CaseResult:
    started = time.monotonic()
    try:
        actual = case.action(context)
    except WaitError as error:
        actual = Outcome("unanswered", message=str(error))
    except ApiError as error:
        actual = refused(error)
    result = CaseResult(case, actual, time.monotonic() - started)
    progress(result)
    return result
