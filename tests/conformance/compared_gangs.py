"""Submits random gangs to a rehearsed cluster and compares their expected with their actual outcomes."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from msgspec.structs import replace

from gpuc.model import Cluster, ClusterQueue
from gpuc_rehearsal.client import ApiError, Object, WaitError
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.expectation import Quota, admission, expect, owner
from gpuc_rehearsal.outcome import Outcome, Request, agrees, refused
from gpuc_rehearsal.suites.jobs import Work, kueue_decision, placed, submit

Gang = tuple[ClusterQueue, Request]
MAX_PODS_ON_NODES = 30
"""Larger gangs are not scheduled on nodes: smaller gangs show the same behavior."""


@dataclass(frozen=True)
class ComparedGang:
    """The expected and the actual outcome of a gang."""

    queue: str
    request: Request
    expected: Outcome
    actual: Outcome
    earlier: tuple[str, ...] = ()
    """The gangs that held quota before."""

    @property
    def agrees(self) -> bool:
        """Whether the actual outcome is the expected one."""
        return agrees(self.expected, self.actual)


def compare_admission(rehearsal: RehearsalContext, gangs: Iterable[Gang]) -> list[ComparedGang]:
    """Compares Kueue's decisions. Different cohorts share no quota, so their gangs are submitted in parallel."""
    cohorts: dict[str, list[tuple[int, Gang]]] = {}
    for number, gang in enumerate(gangs):
        cohorts.setdefault(_root_cohort(rehearsal.cluster, gang[0]), []).append((number, gang))
    with ThreadPoolExecutor(len(cohorts)) as threads:
        results = list(threads.map(lambda gangs: _CohortComparison(rehearsal).compare(gangs), cohorts.values()))
    rehearsal.clear(nodes=False)
    return [compared for result in results for compared in result]


def compare_scheduling(rehearsal: RehearsalContext, gangs: Sequence[Gang]) -> list[ComparedGang]:
    """Compares where the pods of gangs are bound, with at most one gang in a pool so that they do not compete."""
    chosen: dict[str, tuple[Gang, Outcome]] = {}
    quota = Quota(rehearsal.spec)
    for queue, request in sorted(gangs, key=lambda gang: -gang[1].pods):
        if request.pods > MAX_PODS_ON_NODES:
            continue
        decided = admission(rehearsal.spec, queue, request, quota.usage)
        if decided.verdict == "admitted" and decided.flavor not in chosen and not decided.borrowed:
            chosen[decided.flavor] = (queue, request), expect(rehearsal.spec, queue, request, quota.usage)
            quota.add_usage(queue.name, decided.flavor, request.total)
    submitted = [_submitted(rehearsal, number, *gang) for number, (gang, _) in enumerate(chosen.values())]
    with ThreadPoolExecutor(max(1, len(chosen))) as threads:
        outcomes = list(threads.map(lambda gang: _scheduled(rehearsal, *gang), submitted))
    return [
        ComparedGang(queue.name, request, _bound(expected), actual)
        for ((queue, request), expected), actual in zip(chosen.values(), outcomes, strict=True)
    ]


def _bound(expected: Outcome) -> Outcome:
    """The expected outcome of pods that keep running on their nodes."""
    return replace(expected, verdict="bound", borrowed=()) if expected.verdict == "admitted" else expected


def _submitted(
    rehearsal: RehearsalContext, number: int, queue: ClusterQueue, request: Request
) -> tuple[Work, Object, Outcome]:
    """Submits a gang and waits for Kueue's decision, because the decision about the next gang depends on it."""
    work = Work(f"scheduled {number}", queue, request, keeps_running=True)
    try:
        job = submit(rehearsal, work)
    except ApiError as error:
        return work, {}, refused(error)
    return work, job, _decision(rehearsal, job)


def _scheduled(rehearsal: RehearsalContext, work: Work, job: Object, decision: Outcome) -> Outcome:
    """The outcome of a gang; if Kueue admitted it, after the scheduler and Karpenter decided."""
    if decision.verdict != "admitted":
        return decision
    return _answered(lambda: placed(rehearsal, job, work, decision))


def _decision(rehearsal: RehearsalContext, job: Object) -> Outcome:
    return _answered(lambda: kueue_decision(rehearsal, job))


def _answered(outcome: Callable[[], Outcome]) -> Outcome:
    try:
        return outcome()
    except WaitError as error:
        return Outcome("unanswered", message=str(error))


def _root_cohort(cluster: Cluster, queue: ClusterQueue) -> str:
    """The root cohort with which a queue shares quota, or a name of its own without a cohort."""
    name = owner(cluster, queue).spec.cohort
    if name is None:
        return f"queue {queue.name}"
    while parent := next(cohort for cohort in cluster.cohorts if cohort.name == name).spec.parent:
        name = parent
    return name


class _CohortComparison:
    """Submits the gangs of a root cohort one after another."""

    def __init__(self, rehearsal: RehearsalContext) -> None:
        self._rehearsal = rehearsal
        self._quota = Quota(rehearsal.spec)
        self._holding: list[tuple[str, Object]] = []
        self._refused: list[Object] = []
        self._borrows = False

    def compare(self, gangs: Iterable[tuple[int, Gang]]) -> list[ComparedGang]:
        return [self._compare(number, queue, request) for number, (queue, request) in gangs]

    def _compare(self, number: int, queue: ClusterQueue, request: Request) -> ComparedGang:
        if self._borrows or self._counts_nodes(queue):
            self._release_quota()
        earlier = tuple(description for description, _ in self._holding)
        expected = admission(self._rehearsal.spec, queue, request, self._quota.usage)
        try:
            job = submit(self._rehearsal, Work(f"admission {number}", queue, request, without_pods=True))
        except ApiError as error:
            return ComparedGang(queue.name, request, expected, refused(error), earlier)
        actual = _decision(self._rehearsal, job)
        if actual.verdict == "admitted":
            self._hold_quota(queue, request, actual.flavor, job)
        else:
            self._remove(job)
            self._refused.append(job)
        return ComparedGang(queue.name, request, replace(expected, borrowed=()), actual, earlier)

    def _hold_quota(self, queue: ClusterQueue, request: Request, flavor: str, job: Object) -> None:
        node, usage = self._quota.node(queue.name), self._quota.usage
        borrowed = (node.distance((flavor, name), amount, usage) for name, amount in request.total.items())
        self._borrows = self._borrows or any(borrowed)
        self._quota.add_usage(queue.name, flavor, request.total)
        self._holding.append((f"{queue.name} on {flavor}: {request}", job))

    def _counts_nodes(self, queue: ClusterQueue) -> bool:
        """Returns whether Kueue would count nodes that other gangs use; the model assumes that all nodes are empty."""
        return bool(self._holding) and any(pool.spec.topology for pool in queue.pools)

    def _release_quota(self) -> None:
        """Removes all gangs: Kueue would preempt borrowing gangs, which the model does not predict."""
        for _, job in self._holding:
            self._remove(job)
        removed = [*self._refused, *(job for _, job in self._holding)]
        for job in removed:
            self._rehearsal.until("its Workload is gone", lambda: self._rehearsal.workload_of(job) is None, 30)  # noqa: B023
        self._quota, self._borrows = Quota(self._rehearsal.spec), False
        self._holding.clear()
        self._refused.clear()

    def _remove(self, job: Object) -> None:
        try:
            self._rehearsal.client.delete_object(job)
        except ApiError as error:
            if error.code != 409:
                raise
