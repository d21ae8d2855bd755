"""A control plane with the state before and with work, to which changes are applied and from which they are removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.apply import ARGO_CD
from gpuc.rehearse.argocd.object_diff import ARGO_CD_API, ObjectKey, diff_objects, key_of
from gpuc.rehearse.client import ApiError, Client
from gpuc.rehearse.crds import Definitions
from gpuc.rehearse.health import wait_healthy
from gpuc.rehearse.not_tested import split_by_kind
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.substitute import replacement_objects, simulated_document
from gpuc.rehearse.topology_labels import place_static_nodes
from gpuc.rehearse.transition.attempts import Answers, dry_runs, refusals, restart, to_restart
from gpuc.rehearse.transition.filling import Filling
from gpuc.rehearse.transition.outcomes import Attempt, node_outcomes, queue_outcomes, workload_outcomes
from gpuc.rehearse.transition.programs import repeat_events, restart_changed
from gpuc.rehearse.transition.result import NodeOutcome, ObjectOutcome, QueueOutcome, WorkloadOutcome
from gpuc.rehearse.transition.settle import await_decisions, drifted, settle
from gpuc.rehearse.transition.snapshot import Snapshot, is_deleting, take_snapshot
from gpuc.rehearse.transition.start import start_work, stop_work, why_not_running
from gpuc.rehearse.transition.synced_changes import apply_change
from gpuc.rehearse.waves import namespaces, steps
from gpuc.trace.node_agents import without_agent_requests

STATIC_NODES_SECONDS = 60
HEALTH_SECONDS = 60
DELETION_SECONDS = 60
RESTORE_SECONDS = 20
REFILL_SECONDS = 60
REVERTED_SECONDS = 1
"""Seconds for which the objects must stay the same after a change is removed."""
POLL_SECONDS = 0.3
THREADS = 6


@dataclass
class Observed:
    """What happened after a change."""

    nodes: list[NodeOutcome] = field(default_factory=list)
    workloads: list[WorkloadOutcome] = field(default_factory=list)
    objects: list[ObjectOutcome] = field(default_factory=list)
    queues: list[QueueOutcome] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


class RunningState:
    """A control plane that runs the state before."""

    def __init__(self, plane: ControlPlane, settings: Settings, definitions: Definitions, before: CompiledSpec) -> None:
        self.plane = plane
        self.client: Client = plane.client
        self._settings = settings
        self._definitions = definitions
        self.before = before
        self.before_objects = self._served(before)
        self._present = self.before_objects
        """The objects that Git has: those of the state before, or those of the state after until `revert`."""
        self.work: list[Filling] = []
        self.snapshot = Snapshot()
        """The objects before the change, when all work runs."""
        self._answers = Answers({}, {})

    @property
    def is_changed(self) -> bool:
        """Whether the control plane has the objects of the state after, from a change that was not reverted."""
        return self._present is not self.before_objects

    def apply(self, progress: Callable[[str], None]) -> list[str]:
        """Applies the state before; returns sentences about objects that are refused or not healthy."""
        problems: list[str] = []
        for document in (*namespaces(self.before_objects), *replacement_objects(self.before.cluster)):
            self.client.apply(document, manager=ARGO_CD)
        with ThreadPoolExecutor(THREADS) as pool:
            for step in steps(self.before_objects):
                progress(f"{step.application}, wave {step.wave}: {len(step.manifests)} objects")
                problems += filter(None, pool.map(self._apply_one, step.manifests))
                problems += map(str, wait_healthy(self.client, step.manifests, HEALTH_SECONDS))
        return [*problems, *self._place_static_nodes()]

    def fill(self, work: Sequence[Filling]) -> dict[str, str]:
        """Starts the work; returns why workloads do not run, by their text. These workloads are not observed."""
        problems = start_work(self.client, work)
        self.work = [filling for filling in work if str(filling) not in problems]
        self._remember()
        return problems

    def change_to(self, after: CompiledSpec, *, explains_nodes: bool = True) -> Observed:
        """Applies the state after, and returns what happened.

        explains_nodes: whether to wait until Karpenter says what keeps drifted nodes, which takes up to 25 s.
        """
        observed = Observed()
        started = time.monotonic()
        self._present = after_objects = self._served(after)
        self._settings = restart_changed(self.plane, self._settings, after, self._definitions)
        for document in replacement_objects(after.cluster):
            self.client.apply(document, manager=ARGO_CD)
        observed.objects = apply_change(self.client, self.before_objects, after_objects)
        observed.seconds["apply"] = time.monotonic() - started
        started = time.monotonic()
        ending = {
            changed.name for changed in observed.objects if (changed.kind, changed.outcome) == ("Namespace", "pruned")
        }
        seen = settle(self.client, is_expected=lambda snapshot: not _work_in(snapshot, ending))
        if explains_nodes and drifted(take_snapshot(self.client)) - drifted(self.snapshot):
            if not await_decisions(self.client, self.snapshot):
                repeat_events(self.plane, self._settings)
                await_decisions(self.client, self.snapshot)
            seen |= settle(self.client)
        observed.seconds["observe"] = time.monotonic() - started
        started = time.monotonic()
        now = take_snapshot(self.client)
        attempts = self._attempts(after_objects, now)
        running = {pool.name for pool in self.before.cluster.pools if pool.always_running}
        observed.nodes = list(node_outcomes(self.snapshot, seen, now, running))
        observed.workloads = list(workload_outcomes(self.work, self.snapshot, now, attempts))
        observed.queues = list(queue_outcomes(self.snapshot, now))
        observed.seconds["create anew"] = time.monotonic() - started
        return observed

    def check(self, after: CompiledSpec) -> Observed:
        """Sends the change as a dry run, for a change of objects that no program of the control plane reads."""
        return Observed(objects=apply_change(self.client, self.before_objects, self._served(after), dry_run=True))

    def rebase(self, before: CompiledSpec, work: Sequence[Filling]) -> dict[str, str]:
        """Makes another state the state before; returns why workloads do not run, by their text.

        Work that runs also in the other state keeps running. The other work is stopped, and the given work is started.
        """
        queues = {queue.name for queue in before.cluster.queues}
        self._stop([filling for filling in self.work if filling.queue and filling.queue not in queues])
        self.before, self.before_objects = before, self._served(before)
        self._replace()
        settle(self.client, REVERTED_SECONDS)
        now = take_snapshot(self.client)
        self._stop([filling for filling in self.work if why_not_running(now, filling)])
        running = set(map(str, self.work))
        self.work += [filling for filling in work if str(filling) not in running]
        problems = self._refill()
        self._stop([filling for filling in self.work if str(filling) in problems])
        return problems

    def _stop(self, work: Sequence[Filling]) -> None:
        stop_work(self.client, work)
        self.work = [filling for filling in self.work if filling not in work]

    def revert(self) -> dict[str, str]:
        """Applies the state before again and restarts disturbed work; returns why workloads do not run."""
        self._replace()
        return self._refill()

    def _replace(self) -> None:
        """Makes the objects those of the state before, also where Argo CD would keep or ignore them."""
        present, wanted, spec = self._present, self.before_objects, self.before
        self._present = wanted
        self._settings = restart_changed(self.plane, self._settings, spec, self._definitions)
        change = diff_objects(present, wanted)
        for manifest in change.removed:
            self._remove(key_of(manifest))
        written = {key_of(manifest) for manifest in change.written}
        self._wait_until_deleted(written)
        for document in (*namespaces(wanted), *replacement_objects(spec.cluster)):
            self.client.apply(document, manager=ARGO_CD)
        for step in steps(wanted):
            changed = [manifest for manifest in step.manifests if key_of(manifest) in written]
            for manifest in changed:
                self._apply_one(manifest)
            wait_healthy(self.client, changed, HEALTH_SECONDS)
        self._place_static_nodes()

    def _place_static_nodes(self) -> list[str]:
        """Waits for the nodes that always run; returns a sentence about each pool with too few nodes."""
        incomplete = place_static_nodes(self.client, self.before.cluster, STATIC_NODES_SECONDS)
        return [f"pool {pool}: {problem}" for pool, problem in incomplete.items()]

    def _wait_until_deleted(self, keys: Iterable[ObjectKey]) -> None:
        """Waits until the API server has deleted those of the objects that it is deleting. Work delays a deletion."""
        deleting = [key for key in keys if self._is_deleting(key)]
        if not deleting:
            return
        stop_work(self.client, self.work)
        deadline = time.monotonic() + DELETION_SECONDS
        while any(map(self._is_deleting, deleting)) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    def _is_deleting(self, key: ObjectKey) -> bool:
        if key.api.startswith(ARGO_CD_API) or not self.client.serves(key.api, key.kind):
            return False
        found = self.client.find(*key.address)
        return found is not None and is_deleting(found)

    def _attempts(self, after_objects: Sequence[Manifest], now: Snapshot) -> dict[str, Attempt]:
        change = diff_objects(self.before_objects, after_objects)
        changed = [key_of(manifest) for manifest in (*change.written, *change.removed)]
        answers = dry_runs(self.client, self.before.cluster, self.work, now)
        found: dict[str, Attempt] = {}
        groups = to_restart(self.work, changed)
        for number, group in enumerate(groups, 1):
            answered = restart(self.client, group)
            found |= answered
            stopped = [filling for filling in group if str(filling) in answered]
            if stopped and number < len(groups):
                self._restore(stopped, changed)
                apply_change(self.client, self.before_objects, after_objects)
        return found | refusals(self.work, self._answers, answers)

    def _restore(self, stopped: Sequence[Filling], changed: Iterable[ObjectKey]) -> None:
        """Starts stopped work with the queues of the state before, because it uses quota while others are restarted."""
        keys = {key for key in changed if key.api == KUEUE_API}
        for manifest in self.before_objects:
            if key_of(manifest) in keys:
                self._apply_one(manifest)
        start_work(self.client, stopped, RESTORE_SECONDS)

    def _served(self, spec: CompiledSpec) -> list[Manifest]:
        served, _ = split_by_kind(self.client, spec.synced)
        return list(without_agent_requests(spec.cluster, served))

    def _remember(self) -> None:
        self.snapshot = take_snapshot(self.client)
        self._answers = dry_runs(self.client, self.before.cluster, self.work, self.snapshot)

    def _refill(self) -> dict[str, str]:
        now = take_snapshot(self.client)
        stop_work(self.client, [filling for filling in self.work if why_not_running(now, filling)])
        problems = start_work(self.client, self.work, REFILL_SECONDS)
        earlier = drifted(self.snapshot)
        settle(self.client, REVERTED_SECONDS, lambda snapshot: drifted(snapshot) <= earlier)
        self._remember()
        return problems

    def _apply_one(self, manifest: Manifest) -> str:
        try:
            self.client.apply(simulated_document(manifest))
        except ApiError as error:
            return f"{manifest}: {error}"
        return ""

    def _remove(self, key: ObjectKey) -> None:
        """Deletes an object that only the state after has."""
        if not key.api.startswith(ARGO_CD_API):
            self.client.delete(*key.address)


def _work_in(snapshot: Snapshot, names: set[str]) -> bool:
    """Returns whether namespaces still have pods or Workloads."""
    return any(
        document["metadata"]["namespace"] in names for document in (*snapshot.of("Pod"), *snapshot.of("Workload"))
    )
