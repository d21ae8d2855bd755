"""Runs random workloads at the same time: one starts as soon as its pool and its quota have place for it.

A workload is removed when the control plane has decided about it, and its place is free when its pods and nodes are
gone. The control plane has decided if a state of objects shows it; no answer follows from the time that has passed,
except if nothing happens for a long time.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuc.model.names import POOL_LABEL
from gpuc_rehearsal.client import Client, Object, condition
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM
from tests.conformance.empty_nodes import EmptyNodes
from tests.conformance.karpenter_failures import KarpenterFailures
from tests.conformance.random_workloads import RandomWorkload
from tests.conformance.real_answers import NODE, POD, Answer, answer, no_node, undecided
from tests.conformance.watched_objects import WatchedObjects
from tests.conformance.workload_shares import Key, Shares, has_own_pool

DECISION_SECONDS, MOST_PATIENCE = 40, 2
"""The longest wait for the decision about a created workload, and by how much a busy machine prolongs it."""
SLOW_SECONDS = 20
"""Decisions that take longer are printed."""
QUIET_SECONDS = 2
"""The time without a change of the pods of a workload and the nodes of its pool, after which a decision of Karpenter
counts: the scheduler and Karpenter know all nodes then."""
REMOVAL_SECONDS, MOST_REMOVAL_SECONDS = 20, 120
"""The time after which objects that a removed workload owns are deleted one by one, and the limit of the removal."""
POLL_SECONDS = 0.2
THREADS = 8
REPORT_SECONDS = 30
ASKED = "tests.gpuc.dev/asked"
"""Annotation of a waiting pod. Its change makes Karpenter decide about the waiting pods again; else it takes 10 s.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/controller.go (PodController.Reconcile)
"""


@dataclass
class Running:
    """A created workload."""

    workload: RandomWorkload
    created: Object
    started: float
    state: object = None
    changed: float = 0
    """When the state changed, as Unix time in seconds."""
    is_asked: bool = False
    nodes: frozenset[str] = frozenset()
    """The nodes that its removal must free."""

    @property
    def uid(self) -> str:
        return str(self.created["metadata"]["uid"])


@dataclass
class Decisions:
    """The answers by the number of the workload."""

    answers: dict[int, Answer] = field(default_factory=dict)
    contended: set[int] = field(default_factory=set)
    """The workloads whose answer others may have caused."""


class ComparedRun:
    """A run of workloads. create: creates a workload, and returns the object or the refusal of the API server."""

    def __init__(
        self,
        client: Client,
        watched: WatchedObjects,
        failures: KarpenterFailures,
        static: Collection[str],
        create: Callable[[RandomWorkload], Object | Answer],
        progress: Callable[[str], None],
    ) -> None:
        self._client, self._watched, self._failures = client, watched, failures
        self._static, self._create, self._progress = static, create, progress
        self._decisions = Decisions()
        self._creating: dict[Future[Object | Answer], RandomWorkload] = {}
        self._running: list[Running] = []
        self._ending: list[tuple[float, Running]] = []

    def decide(self, workloads: Sequence[RandomWorkload], shares: Shares) -> Decisions:
        """Runs workloads, and returns their answers when all of them are decided and removed."""
        self._waiting, self._shares = [*workloads], shares
        reported = time.monotonic()
        with ThreadPoolExecutor(THREADS) as self._threads:
            self._nodes = EmptyNodes(self._client, self._watched, self._threads, self._static)
            while self._waiting or self._creating or self._running or self._ending:
                self._failures.read()
                self._start()
                self._accept()
                self._decide()
                self._nodes.sweep(patience())
                self._free()
                if time.monotonic() - reported > REPORT_SECONDS:
                    reported = time.monotonic()
                    self._progress(
                        f"{len(self._decisions.answers)} of {len(workloads)} decided, {len(self._running)} run, "
                        f"{len(self._ending)} end"
                    )
                time.sleep(POLL_SECONDS)
        return self._decisions

    def _start(self) -> None:
        """Starts the waiting workloads that have a place; no workload overtakes another that waits for its place."""
        blocked: set[Key] = set()
        for workload in [*self._waiting]:
            keys = self._shares.limits(workload).keys()
            is_free = not blocked & keys and (not has_own_pool(workload) or self._is_empty(workload))
            if is_free and self._shares.add(workload):
                self._waiting.remove(workload)
                self._creating[self._threads.submit(self._create, workload)] = workload
            else:
                blocked |= keys

    def _empty_pool(self, workload: RandomWorkload) -> None:
        """Removes the nodes of a pool that no other workload uses."""
        busy = {pod["spec"].get("nodeName") for pod in self._watched.all(POD)}
        nodes, claims = (
            [row for row in self._nodes.removable(kind) if _is_in_pool(row, workload)] for kind in (NODE, CLAIM)
        )
        if not busy & {node["metadata"]["name"] for node in nodes}:
            self._nodes.remove(nodes, claims)

    def _is_empty(self, workload: RandomWorkload) -> bool:
        """Returns whether the pool of a workload has no pods, and no nodes except those that always run."""
        started = (*self._nodes.removable(NODE), *self._nodes.removable(CLAIM))
        return not self._has_others(workload, frozenset()) and not any(_is_in_pool(row, workload) for row in started)

    def _nodes_of_pool(self, workload: RandomWorkload) -> frozenset[str]:
        return frozenset(node["metadata"]["name"] for node in self._watched.all(NODE) if _is_in_pool(node, workload))

    def _accept(self) -> None:
        """Reads the answers of the API server to the creation of workloads."""
        for future in [future for future in self._creating if future.done()]:
            workload, result = self._creating.pop(future), future.result()
            if isinstance(result, Answer):
                self._found(workload, result, frozenset())
                self._shares.remove(workload)
            else:
                self._running.append(Running(workload, result, time.monotonic()))

    def _decide(self) -> None:
        for run in [*self._running]:
            decision = answer(self._watched, run.created) or self._settled(run)
            if decision is None and time.monotonic() - run.started > DECISION_SECONDS * patience():
                decision = undecided(self._watched, run.created)
            if decision is None:
                continue
            pods = self._pods(run)
            run.nodes = frozenset(str(pod["spec"]["nodeName"]) for pod in pods if pod["spec"].get("nodeName"))
            self._found(run.workload, decision, frozenset(pod["metadata"]["uid"] for pod in pods))
            run.is_asked = False
            self._running.remove(run)
            self._ending.append((time.monotonic(), run))
            self._threads.submit(self._client.delete_object, run.created)
            if (seconds := time.monotonic() - run.started) > SLOW_SECONDS:
                self._progress(f"{run.workload.name}: {seconds:.0f} s: {' '.join(vars(decision).values())[:200]}")

    def _found(self, workload: RandomWorkload, decision: Answer, pods: frozenset[str]) -> None:
        self._decisions.answers[workload.number] = decision
        is_own = self._shares.is_alone or (has_own_pool(workload) and not self._has_others(workload, pods))
        if decision.is_contended(has_static_nodes=bool(self._static), has_own_pool=is_own):
            self._decisions.contended.add(workload.number)

    def _has_others(self, workload: RandomWorkload, pods: frozenset[str]) -> bool:
        """Returns whether a node of the pool has a pod of another workload."""
        nodes = self._nodes_of_pool(workload)
        others = (pod for pod in self._watched.all(POD) if pod["metadata"]["uid"] not in pods)
        return any(pod["spec"].get("nodeName") in nodes for pod in others)

    def _pods(self, run: Running) -> list[Object]:
        if run.created["kind"] == "Pod":
            return [pod] if (pod := self._watched.find(POD, run.uid)) else []
        return [document for kind, document in self._watched.family(run.uid) if kind == POD]

    def _settled(self, run: Running) -> Answer | None:
        """Returns the answer if nothing changes any more, and Karpenter can start no node for any waiting pod."""
        pods = [pod for pod in self._pods(run) if "deletionTimestamp" not in pod["metadata"]]
        places = frozenset((pod["metadata"]["uid"], pod["spec"].get("nodeName")) for pod in pods)
        if (state := (places, self._nodes_of_pool(run.workload))) != run.state:
            run.state, run.changed, run.is_asked = state, time.time(), False
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        quiet = run.changed + QUIET_SECONDS * patience()
        if not waiting or time.time() < quiet or any(map(_is_undecided, waiting)):
            return None
        if not run.is_asked:
            run.is_asked = True
            for pod in waiting:
                self._threads.submit(self._ask, pod)
        errors = [self._failures.since(pod, quiet) for pod in waiting]
        return no_node(waiting[0], f"Failed to schedule pod, {errors[0]}") if all(errors) else None

    def _ask(self, pod: Object) -> None:
        change = {"metadata": {"annotations": {ASKED: str(time.time())}}}
        self._client.patch_object({**pod, "apiVersion": POD[0], "kind": POD[1]}, change)

    def _free(self) -> None:
        """Frees the places of the removed workloads whose objects and nodes are gone."""
        started = {node["metadata"]["name"] for node in self._nodes.removable(NODE)}
        for began, run in [*self._ending]:
            family = self._watched.family(run.uid)
            root = self._watched.find((run.created["apiVersion"], run.created["kind"]), run.uid)
            if root is None and not family and has_own_pool(run.workload):
                self._empty_pool(run.workload)
            if root is None and not family and not run.nodes & started:
                self._ending.remove((began, run))
                self._shares.remove(run.workload)
                continue
            seconds = time.monotonic() - began
            if seconds > MOST_REMOVAL_SECONDS:
                raise AssertionError(f"{run.workload.name} is not removed: {[row[1]['metadata'] for row in family]}")
            if seconds > REMOVAL_SECONDS and family and not run.is_asked:
                run.is_asked = True
                for (api, kind), document in family:
                    self._client.delete_object({**document, "apiVersion": api, "kind": kind})


def _is_in_pool(document: Object, workload: RandomWorkload) -> bool:
    return bool(document["metadata"].get("labels", {}).get(POOL_LABEL) == workload.target.pool.name)


def _is_undecided(pod: Object) -> bool:
    """Returns whether the scheduler has not looked for a node yet."""
    return bool(pod["spec"].get("schedulingGates")) or condition(pod, "PodScheduled").get("reason") != "Unschedulable"


def patience() -> float:
    """Returns by how much the other programs of the machine prolong the decisions."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1), MOST_PATIENCE)
