"""Runs `gpuc rehearse --from` for one cluster: applies the state before, starts work, applies the change, observes."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import asdict, replace

from gpuc.extra.files import read_files
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.rehearsed_spec import without_namespaces
from gpuc.pipeline.stages import CompiledSpec, compile_source
from gpuc.source import Source
from gpuc.trace.node_agents import without_agent_requests
from gpuc_rehearsal.apply import ARGO_CD, apply_object, apply_waves, measured
from gpuc_rehearsal.autoscaler import autoscaler_of, existing_nodes
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.crds import Definitions, definitions
from gpuc_rehearsal.health import place_static_nodes
from gpuc_rehearsal.plane import ControlPlane, kueue
from gpuc_rehearsal.plane.kwok import zones_of
from gpuc_rehearsal.plane.site import Settings, with_nodes_of
from gpuc_rehearsal.process import free_ports
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.substitute import replacement_objects, settings, split_by_kind
from gpuc_rehearsal.transition.attempts import Answers, dry_runs, refusals, restart, to_restart
from gpuc_rehearsal.transition.filling import NODES, Filling, create, fillings, user_work
from gpuc_rehearsal.transition.outcomes import (
    Attempt,
    drifted,
    node_outcomes,
    queue_outcomes,
    settle,
    workload_outcomes,
)
from gpuc_rehearsal.transition.result import Observed, TransitionResult
from gpuc_rehearsal.transition.snapshot import Snapshot, start_work, take_snapshot
from gpuc_rehearsal.transition.synced_changes import ObjectKey, apply_change, diff_objects, key_of

READY_SECONDS = 120
_PORTS = 8
STATIC_NODES_SECONDS = 60
RESTORE_SECONDS = 20
Progress = Callable[[str], None]


def shared_settings(before: CompiledSpec, others: Iterable[CompiledSpec], definitions: Definitions) -> Settings:
    """Returns settings for a control plane to which all states of a cluster can be applied, one after another.

    The settings are those of the state before, with the instance types and pools of the other states. In a real cloud,
    an autoscaler knows all instance types, so it also starts new ones without a restart. All instance types are offered
    in the zones of all states. If states differ in the resources of an instance type, the first state counts. Kueue and
    Gatekeeper run from the start if one of the states needs them.
    """
    specs = (before, *others)
    zones = sorted({zone for spec in specs for zone in zones_of(spec.cluster)})
    shared, *rest = (settings(spec, definitions, zones) for spec in specs)
    for other in rest:
        nodes = with_nodes_of(other, shared)
        shared = replace(
            shared,
            instance_types=nodes.instance_types,
            node_stages=nodes.node_stages,
            kueue_configuration=shared.kueue_configuration or other.kueue_configuration,
            has_gatekeeper=shared.has_gatekeeper or other.has_gatekeeper,
            policy_resources=tuple(dict.fromkeys((*shared.policy_resources, *other.policy_resources))),
        )
    return shared


def restart_changed(plane: ControlPlane, running: Settings, spec: CompiledSpec, definitions: Definitions) -> Settings:
    """Restarts Kueue or the autoscaler if the Helm values of a spec change the settings of the program.

    In a real cluster, the changed Deployment would restart the program. Returns the settings after the restart.
    """
    wanted, known = settings(spec, definitions), running.kueue_configuration
    names = [kueue.PROGRAM] if known is not None and wanted.kueue_configuration not in (None, known) else []
    if running.autoscaler and wanted.feature_gates != running.feature_gates:
        names.append(running.autoscaler.program)
    if not names:
        return running
    configuration = wanted.kueue_configuration or known
    now = replace(running, kueue_configuration=configuration, feature_gates=wanted.feature_gates)
    _restart(plane, now, names)
    return now


def _restart(plane: ControlPlane, wanted: Settings, names: list[str]) -> None:
    site = plane.site
    site._ports = free_ports(_PORTS)
    site.stop(names)
    if kueue.PROGRAM in names:
        configuration = json.loads((site.folder / "kueue.json").read_text(encoding="utf-8"))
        kueue.start_kueue(site, wanted.kueue_configuration or {}, configuration["webhook"]["port"])
    if wanted.autoscaler and wanted.autoscaler.program in names:
        wanted.autoscaler.start(site, wanted)
    for process in site.processes:
        process.wait_ready(READY_SECONDS)


class RunningState:
    """A running control plane for `gpuc rehearse --from`, to which the state before the change is applied."""

    explains_nodes = True
    """Whether to wait until the autoscaler reports why it does not replace drifted nodes. The wait takes up to 25 s."""

    def __init__(self, plane: ControlPlane, settings: Settings, definitions: Definitions, before: CompiledSpec) -> None:
        self.plane = plane
        self.client: Client = plane.client
        self._settings = settings
        self._definitions = definitions
        self.before = before
        self.before_objects = self._served(before)
        self._present = self.before_objects
        """The objects in Git: the objects of the state before, or the objects of the state after."""
        self.work: list[Filling] = []
        self.snapshot = Snapshot()
        """The objects before the change, when all work runs."""
        self._answers: Answers = {}

    def apply(self, progress: Progress) -> list[str]:
        """Applies the state before. Returns sentences about objects that are refused or not healthy."""
        waves = apply_waves(self.client, self.before_objects, replacement_objects(self.before.cluster), progress)
        problems = [str(problem) for _, refused, unhealthy in waves for problem in (*refused, *unhealthy)]
        return [*problems, *self._place_static_nodes()]

    def fill(self, work: Sequence[Filling]) -> dict[str, str]:
        """Starts workloads in the cluster before the change, and keeps those that run for the comparison after it.

        Returns why each other workload does not run, by "Kind namespace/name".
        """
        problems = start_work(self.client, work)
        self.work = [filling for filling in work if str(filling) not in problems]
        self._remember()
        return problems

    def change_to(self, after: CompiledSpec) -> Observed:
        """Applies the state after the change, waits for the controllers, and returns what happened to the objects."""
        observed = Observed()
        with measured(observed.seconds, "apply"):
            self._present = after_objects = self._served(after)
            self._settings = restart_changed(self.plane, self._settings, after, self._definitions)
            existing = existing_nodes(after.cluster.spec.cloud.substrate)
            for document in () if existing else replacement_objects(after.cluster):
                self.client.apply(document, manager=ARGO_CD)
            observed.objects = apply_change(self.client, self.before_objects, after_objects)
            if existing:
                existing.follow(self.client, after.cluster)
        with measured(observed.seconds, "observe"):
            ending = {row.name for row in observed.objects if (row.kind, row.outcome) == ("Namespace", "pruned")}
            seen = settle(self.client, is_expected=lambda snapshot: not _work_in(snapshot, ending))
            if self.explains_nodes and drifted(take_snapshot(self.client)) - drifted(self.snapshot):
                self._await_decisions()
                seen |= settle(self.client)
        with measured(observed.seconds, "create anew"):
            now = take_snapshot(self.client)
            attempts = self._attempts(after_objects, now)
        running = {pool.name for pool in self.before.cluster.pools if pool.always_running}
        observed.nodes = list(node_outcomes(self.snapshot, seen, now, running))
        observed.workloads = list(workload_outcomes(self.work, self.snapshot, now, attempts))
        observed.queues = list(queue_outcomes(self.snapshot, now))
        return observed

    def _await_decisions(self) -> None:
        """Waits until the autoscaler has decided about the drifted nodes.

        If the autoscaler reports nothing, restarts it. The autoscaler publishes only one event of a kind about a node
        in two minutes, even if the reason differs, and the events about the start of a node are of the same kind.

        Source: sigs.k8s.io/karpenter v1.14.1 pkg/events/recorder.go (shouldCreateEvent)
        """
        autoscaler = self.snapshot.autoscaler
        if autoscaler and not autoscaler.drift.await_decisions(self.client, self.snapshot):
            _restart(self.plane, self._settings, [autoscaler.program])
            autoscaler.drift.await_decisions(self.client, self.snapshot)

    def _place_static_nodes(self) -> list[str]:
        """Waits for the nodes that always run; returns a sentence about each pool with too few nodes."""
        incomplete = place_static_nodes(self.client, self.before.cluster, STATIC_NODES_SECONDS)
        return [f"pool {pool}: {problem}" for pool, problem in incomplete.items()]

    def _attempts(self, after_objects: Sequence[Manifest], now: Snapshot) -> dict[str, Attempt]:
        changed = diff_objects(self.before_objects, after_objects).keys
        answers = dry_runs(self.client, self.before.cluster, self.work, now)
        found: dict[str, Attempt] = {}
        groups = to_restart(self.work, changed)
        for number, group in enumerate(groups, 1):
            found |= restart(self.client, group)
            stopped = [filling for filling in group if str(filling) in found]
            if stopped and number < len(groups):
                self._restore(stopped, changed)
                apply_change(self.client, self.before_objects, after_objects)
        return found | refusals(self._answers, answers)

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


class Transition(NamedTuple):
    """A change of a cluster to rehearse: the specs before and after the change, and the work that runs before it."""

    name: str
    """The state before, as the user named it."""
    before: CompiledSpec
    after: CompiledSpec
    workloads: Sequence[Object] | None = None
    """Objects of users; None for work that fills the quotas."""


@contextmanager
def transition(
    change: Transition, programs: Programs, crds_folder: Path | None, progress: Progress
) -> Iterator[TransitionResult]:
    """Rehearses a change, and yields the result. The control plane ends with the `with` block of the caller.

    Raises ProgramError if a program of the control plane fails.
    """
    frameworks = (*change.before.cluster.frameworks, *change.after.cluster.frameworks)
    substrates = [change.after.cluster.spec.cloud.substrate.folder]
    crds = definitions(programs, crds_folder, dict.fromkeys(frameworks), substrates)
    settings = shared_settings(change.before, [change.after], crds)
    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        with measured(seconds, "start"):
            plane = stack.enter_context(ControlPlane(programs, settings, progress))
        with measured(seconds, "state before"):
            state = RunningState(plane, settings, crds, change.before)
            problems = state.apply(progress)
        with measured(seconds, "work"):
            if change.workloads is None:
                work = fillings(change.before.cluster)
            else:
                work, others = user_work(change.workloads, change.before.cluster)
                problems += _refused(plane.client, others)
            progress(f"starting {len(work)} workloads")
            not_started = state.fill(work)
        progress("applying the change")
        observed = state.change_to(change.after)
        plane.require_alive()
        observed.seconds = seconds | observed.seconds
        _, unserved = split_by_kind(plane.client, change.after.synced)
        notes = (*_notes(change, not_started, problems), *(f"not applied, no such kind: {row}" for row in unserved))
        cluster, kubeconfig = change.after.cluster, str(plane.site.kubeconfig)
        yield TransitionResult(
            **asdict(observed), cluster=cluster.name, file=cluster.file, before=change.name, notes=notes,
            kubeconfig=kubeconfig,
        )  # fmt: skip


def _refused(client: Client, documents: Iterable[Object]) -> Iterator[str]:
    """Creates objects without pods; yields why the API server refuses objects."""
    for document in documents:
        if problem := create(client, document):
            yield f"{document['kind']} {document['metadata'].get('name', '')} is not created: {problem}"


def compiled_from(root: Path, source: Source, *, keeps_namespaces: bool = False) -> CompiledSpec:
    """Compiles a spec for `gpuc rehearse --from`.

    Elements with `leaving: true` keep this mark, because the mark can be a part of the change. All components are in
    their usual namespaces, where the control plane runs them; with `keeps_namespaces`, they are in the namespaces of
    the spec. Raises StageError when the spec, a policy or the catalog of the fleet has errors.
    """
    tree, moved = (source.tree, ()) if keeps_namespaces else without_namespaces(source.tree)
    catalog = fleet_catalog(root).catalog
    files = read_files(root, source.file)
    compiled = compile_source(replace(source, tree=tree), fleet_policies(root), files=files, catalog=catalog)
    return replace(compiled, moved=moved)


def _notes(change: Transition, not_started: dict[str, str], problems: Iterable[str]) -> Iterator[str]:
    """Yields sentences about what the transition does not show."""
    if change.workloads is None:
        yield (
            f"At most {NODES} nodes run for each pair of a queue, or a namespace with a quota, and a pool; "
            "workloads without nodes use the rest of each quota."
        )
    if autoscaler := autoscaler_of(change.after.cluster):
        programs = f"Kueue and {autoscaler.name}"
        changed = diff_objects(change.before.synced, change.after.synced)
        yield from autoscaler.drift.notes((*changed.written, *changed.removed))
    else:
        yield "Node feature discovery does not run. Nodes get new labels and taints at once, and keep their resources."
        programs = "Kueue"
    yield f"Charts are not installed: of their Helm values, only the configuration of {programs} is used."
    for workload, problem in not_started.items():
        yield f"{workload} did not run before the change, and is not observed: {problem}"
    yield from (f"In the state before: {problem}" for problem in problems)
