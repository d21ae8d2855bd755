"""Random work on a rehearsed cluster: what was expected of each gang, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from gpuc.model import Cluster, ClusterQueue
from gpuc.rehearse.client import ApiError, Object, WaitError
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.expectation import admission, expect
from gpuc.rehearse.outcome import Outcome, Request, agrees
from gpuc.rehearse.quota import Quota, owner
from gpuc.rehearse.suites.jobs import Work
from gpuc.rehearse.suites.observe import kueue_decision, placed, submit

Asked = tuple[ClusterQueue, Request]
WALKED_PODS_MAX = 30
"""Larger gangs do not go on to nodes: what they would show, smaller ones show too."""


@dataclass(frozen=True)
class Judged:
    """A gang, what the model says of it, and what the control plane did."""

    queue: str
    request: Request
    expected: Outcome
    seen: Outcome
    after: tuple[str, ...] = ()
    """What held quota before it."""

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return agrees(self.expected, self.seen)


def judge_admission(rehearsal: RehearsalContext, work: Iterable[Asked]) -> list[Judged]:
    """Kueue's answers; queues of different cohorts have no influence on one another and ask at the same time."""
    trees: dict[str, list[tuple[int, Asked]]] = {}
    for number, asked in enumerate(work):
        trees.setdefault(_tree(rehearsal.cluster, asked[0]), []).append((number, asked))
    with ThreadPoolExecutor(len(trees)) as pool:
        judged = [
            each for part in pool.map(lambda tree: _Queueing(rehearsal).judge(tree), trees.values()) for each in part
        ]
    rehearsal.clear(nodes=False)
    return judged


def judge_nodes(rehearsal: RehearsalContext, work: Sequence[Asked]) -> list[Judged]:
    """Gangs up to their nodes, at most one for each pool: pools have no influence on one another."""
    chosen: dict[str, tuple[Asked, Outcome]] = {}
    quota = Quota(rehearsal.cluster)
    for queue, request in sorted(work, key=lambda asked: -asked[1].pods):
        if request.pods > WALKED_PODS_MAX:
            continue
        decided = admission(rehearsal.cluster, queue, request, quota)
        if decided.verdict == "admitted" and decided.flavor not in chosen and not decided.borrowed:
            chosen[decided.flavor] = (queue, request), expect(rehearsal.cluster, queue, request, quota)
            quota.hold(queue.name, decided.flavor, request.total)
    submitted = [_submitted(rehearsal, number, *asked) for number, (asked, _) in enumerate(chosen.values())]
    with ThreadPoolExecutor(max(1, len(chosen))) as pool:
        seen = list(pool.map(lambda each: _walked(rehearsal, *each), submitted))
    return [
        Judged(queue.name, request, _bound(expected), outcome)
        for ((queue, request), expected), outcome in zip(chosen.values(), seen, strict=True)
    ]


def _bound(expected: Outcome) -> Outcome:
    """What is expected of pods that stay where they are."""
    return replace(expected, verdict="bound", borrowed=()) if expected.verdict == "admitted" else expected


def _submitted(
    rehearsal: RehearsalContext, number: int, queue: ClusterQueue, request: Request
) -> tuple[Work, Object, Outcome]:
    """A gang and Kueue's answer to it: the next one comes after that, because what it gets depends on it."""
    work = Work(f"walk {number}", queue, request, keeps_running=True)
    made = submit(rehearsal, work)
    return (work, {}, made) if isinstance(made, Outcome) else (work, made, _answer(rehearsal, made))


def _walked(rehearsal: RehearsalContext, work: Work, made: Object, decided: Outcome) -> Outcome:
    """Where its pods are, once it is admitted."""
    if decided.verdict != "admitted":
        return decided
    try:
        return placed(rehearsal, made, work, decided)
    except WaitError as error:
        return Outcome("unanswered", message=str(error))


def _answer(rehearsal: RehearsalContext, made: Object) -> Outcome:
    try:
        return kueue_decision(rehearsal, made)
    except WaitError as error:
        return Outcome("unanswered", message=str(error))


def _tree(cluster: Cluster, queue: ClusterQueue) -> str:
    """What a queue shares quota with: the root of its cohorts, or nobody."""
    name = owner(cluster, queue).spec.cohort
    if name is None:
        return f"queue {queue.name}"
    while parent := next(each for each in cluster.cohorts if each.name == name).spec.parent:
        name = parent
    return name


class _Queueing:
    """Gangs of one tree of cohorts, one after the other."""

    def __init__(self, rehearsal: RehearsalContext) -> None:
        self._rehearsal = rehearsal
        self._quota = Quota(rehearsal.cluster)
        self._holding: list[tuple[str, Object]] = []
        self._refused: list[Object] = []
        self._borrows = False

    def judge(self, work: Iterable[tuple[int, Asked]]) -> list[Judged]:
        return [self._one(number, queue, request) for number, (queue, request) in work]

    def _one(self, number: int, queue: ClusterQueue, request: Request) -> Judged:
        if self._borrows or self._counts_nodes(queue):
            self._free()
        cluster, after = self._rehearsal.cluster, tuple(told for told, _ in self._holding)
        expected = admission(cluster, queue, request, self._quota)
        made = submit(self._rehearsal, Work(f"asked {number}", queue, request, without_pods=True))
        if isinstance(made, Outcome):
            return Judged(queue.name, request, expected, made, after)
        seen = _answer(self._rehearsal, made)
        if seen.verdict == "admitted":
            self._hold(queue, request, seen.flavor, made)
        else:
            self._remove(made)
            self._refused.append(made)
        return Judged(queue.name, request, replace(expected, borrowed=()), seen, after)

    def _hold(self, queue: ClusterQueue, request: Request, flavor: str, made: Object) -> None:
        node, usage = self._quota.node(queue), self._quota.usage
        borrowed = (node.distance((flavor, name), amount, usage) for name, amount in request.total.items())
        self._borrows = self._borrows or any(borrowed)
        self._quota.hold(queue.name, flavor, request.total)
        self._holding.append((f"{queue.name} on {flavor}: {request}", made))

    def _counts_nodes(self, queue: ClusterQueue) -> bool:
        """Whether Kueue would look at nodes that work holds already: the model knows empty ones."""
        return bool(self._holding) and any(pool.spec.topology for pool in queue.pools)

    def _free(self) -> None:
        """Nobody holds anything: of what borrows, Kueue would take back."""
        for _, made in self._holding:
            self._remove(made)
        gone = [*self._refused, *(made for _, made in self._holding)]
        for made in gone:
            self._rehearsal.until("its Workload is gone", lambda: self._rehearsal.workload_of(made) is None, 30)  # noqa: B023
        self._quota, self._borrows = Quota(self._rehearsal.cluster), False
        self._holding.clear()
        self._refused.clear()

    def _remove(self, made: Object) -> None:
        metadata = made["metadata"]
        try:
            self._rehearsal.client.delete("batch/v1", "Job", metadata["name"], metadata["namespace"])
        except ApiError as error:
            if error.code != 409:
                raise
