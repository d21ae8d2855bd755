"""A control plane with the state before and with work, to which a change is applied."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.apply import ARGO_CD, apply_object, apply_waves
from gpuc.rehearse.argocd.object_diff import ObjectKey, diff_objects, key_of
from gpuc.rehearse.client import Client
from gpuc.rehearse.crds import Definitions
from gpuc.rehearse.health import place_static_nodes
from gpuc.rehearse.instance_types import zones_of
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.plane.kueue import start_kueue
from gpuc.rehearse.plane.kwok import start_karpenter
from gpuc.rehearse.plane.site import Settings
from gpuc.rehearse.process import free_ports
from gpuc.rehearse.substitute import replacement_objects, settings, split_by_kind
from gpuc.rehearse.transition.attempts import Answers, dry_runs, refusals, restart, to_restart
from gpuc.rehearse.transition.filling import Filling
from gpuc.rehearse.transition.outcomes import Attempt, node_outcomes, queue_outcomes, workload_outcomes
from gpuc.rehearse.transition.result import Observed
from gpuc.rehearse.transition.settle import await_decisions, drifted, settle
from gpuc.rehearse.transition.snapshot import Snapshot, take_snapshot
from gpuc.rehearse.transition.start import start_work
from gpuc.rehearse.transition.synced_changes import apply_change
from gpuc.trace.node_agents import without_agent_requests

READY_SECONDS = 120
_PORTS = 8
_KUEUE, _KARPENTER = "kueue", "karpenter-kwok"
STATIC_NODES_SECONDS = 60
RESTORE_SECONDS = 20


def shared_settings(before: CompiledSpec, others: Iterable[CompiledSpec], definitions: Definitions) -> Settings:
    """Returns the settings of the state before, with the instance types and the pools of the other states added.

    Karpenter knows all instance types of EC2 in a real cluster, so a new instance type needs no restart. All of them
    have offerings in the zones of all states, and the resources of the first state that uses them. Kueue and Gatekeeper
    run from the start if any state needs them.
    """
    specs = (before, *others)
    zones = sorted({zone for spec in specs for zone in zones_of(spec.cluster)})
    first = settings(before, definitions, zones)
    kueue_configuration, has_gatekeeper = first.kueue_configuration, first.has_gatekeeper
    types = {row["name"]: row for row in first.instance_types}
    stages = {row["metadata"]["name"]: row for row in first.node_stages}
    resources = dict.fromkeys(first.policy_resources)
    for spec in specs[1:]:
        other = settings(spec, definitions, zones)
        types = {row["name"]: row for row in other.instance_types} | types
        stages = {row["metadata"]["name"]: row for row in other.node_stages} | stages
        resources |= dict.fromkeys(other.policy_resources)
        kueue_configuration = kueue_configuration or other.kueue_configuration
        has_gatekeeper = has_gatekeeper or other.has_gatekeeper
    return replace(
        first,
        kueue_configuration=kueue_configuration,
        has_gatekeeper=has_gatekeeper,
        instance_types=tuple(types.values()),
        node_stages=tuple(stages.values()),
        policy_resources=tuple(resources),
    )


def restart_changed(plane: ControlPlane, running: Settings, spec: CompiledSpec, definitions: Definitions) -> Settings:
    """Restarts Kueue and Karpenter if the Helm values of a state change their settings, as a new Deployment would.

    Returns the settings with which the programs run now.
    """
    wanted = settings(spec, definitions)
    changed = []
    known = running.kueue_configuration
    if known is not None and wanted.kueue_configuration not in (None, known):
        changed.append(_KUEUE)
    if wanted.karpenter_gates != running.karpenter_gates:
        changed.append(_KARPENTER)
    if not changed:
        return running
    now = replace(
        running,
        kueue_configuration=wanted.kueue_configuration or running.kueue_configuration,
        karpenter_gates=wanted.karpenter_gates,
    )
    _restart(plane, now, changed)
    return now


def repeat_events(plane: ControlPlane, running: Settings) -> None:
    """Restarts Karpenter, so that it says again what keeps a node.

    Karpenter publishes one event of a kind about a node in two minutes, also if the reason differs, and the events
    about the start of a node are of the same kind.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/events/recorder.go (shouldCreateEvent)
    """
    _restart(plane, running, [_KARPENTER])


def _restart(plane: ControlPlane, wanted: Settings, names: list[str]) -> None:
    site = plane.site
    site._ports = free_ports(_PORTS)
    site.stop(names)
    starts: Mapping[str, Callable[[], object]] = {
        _KUEUE: lambda: start_kueue(site, wanted.kueue_configuration or {}, _kueue_port(plane)),
        _KARPENTER: lambda: start_karpenter(site, wanted),
    }
    for name in names:
        starts[name]()
    for process in site.processes:
        process.wait_ready(READY_SECONDS)


def _kueue_port(plane: ControlPlane) -> int:
    configuration = json.loads((plane.site.folder / "kueue.json").read_text(encoding="utf-8"))
    return int(configuration["webhook"]["port"])


class RunningState:
    """A control plane that runs the state before."""

    explains_nodes = True
    """Whether to wait until Karpenter says what keeps drifted nodes, which takes up to 25 s."""

    def __init__(self, plane: ControlPlane, settings: Settings, definitions: Definitions, before: CompiledSpec) -> None:
        self.plane = plane
        self.client: Client = plane.client
        self._settings = settings
        self._definitions = definitions
        self.before = before
        self.before_objects = self._served(before)
        self._present = self.before_objects
        """The objects that Git has: those of the state before, or those of the state after."""
        self.work: list[Filling] = []
        self.snapshot = Snapshot()
        """The objects before the change, when all work runs."""
        self._answers = Answers({}, {})

    def apply(self, progress: Callable[[str], None]) -> list[str]:
        """Applies the state before; returns sentences about objects that are refused or not healthy."""
        replacements = replacement_objects(self.before.cluster)
        problems: list[str] = []
        for _, refused, unhealthy in apply_waves(self.client, self.before_objects, replacements, progress):
            problems += map(str, (*refused, *unhealthy))
        return [*problems, *self._place_static_nodes()]

    def fill(self, work: Sequence[Filling]) -> dict[str, str]:
        """Starts the work; returns why workloads do not run, by their text. These workloads are not observed."""
        problems = start_work(self.client, work)
        self.work = [filling for filling in work if str(filling) not in problems]
        self._remember()
        return problems

    def change_to(self, after: CompiledSpec) -> Observed:
        """Applies the state after, and returns what happened."""
        observed = Observed()
        started = time.monotonic()
        self._present = after_objects = self._served(after)
        self._settings = restart_changed(self.plane, self._settings, after, self._definitions)
        for document in replacement_objects(after.cluster):
            self.client.apply(document, manager=ARGO_CD)
        observed.objects = apply_change(self.client, self.before_objects, after_objects)
        observed.seconds["apply"] = time.monotonic() - started
        started = time.monotonic()
        ending = {row.name for row in observed.objects if (row.kind, row.outcome) == ("Namespace", "pruned")}
        seen = settle(self.client, is_expected=lambda snapshot: not _work_in(snapshot, ending))
        if self.explains_nodes and drifted(take_snapshot(self.client)) - drifted(self.snapshot):
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

    def _place_static_nodes(self) -> list[str]:
        """Waits for the nodes that always run; returns a sentence about each pool with too few nodes."""
        incomplete = place_static_nodes(self.client, self.before.cluster, STATIC_NODES_SECONDS)
        return [f"pool {pool}: {problem}" for pool, problem in incomplete.items()]

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
                apply_object(self.client, manifest)
        start_work(self.client, stopped, RESTORE_SECONDS)

    def _served(self, spec: CompiledSpec) -> list[Manifest]:
        served, _ = split_by_kind(self.client, spec.synced)
        return list(without_agent_requests(spec.cluster, served))

    def _remember(self) -> None:
        self.snapshot = take_snapshot(self.client)
        self._answers = dry_runs(self.client, self.before.cluster, self.work, self.snapshot)


def _work_in(snapshot: Snapshot, names: set[str]) -> bool:
    """Returns whether namespaces still have pods or Workloads."""
    documents = (*snapshot.of("Pod"), *snapshot.of("Workload"))
    return any(document["metadata"]["namespace"] in names for document in documents)
