"""Runs the transition of one cluster: the state before with work, the change, and the observation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gpuc.extra.files import read_files
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.rehearsed_spec import without_namespaces
from gpuc.pipeline.stages import CompiledSpec, compile_source
from gpuc.rehearse.client import Object
from gpuc.rehearse.crds import definitions
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.programs import Programs
from gpuc.rehearse.substitute import split_by_kind
from gpuc.rehearse.transition.filling import NODES, create_others, fillings, user_work
from gpuc.rehearse.transition.result import TransitionResult
from gpuc.rehearse.transition.running import RunningState, shared_settings
from gpuc.source import Source, read

Progress = Callable[[str], None]
_NODE_CLASS = "EC2NodeClass"


@dataclass(frozen=True)
class Transition:
    """The two states of a cluster, and the work."""

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
    """Yields the result of a transition. The control plane ends when the caller leaves the `with` block.

    Raises:
        ProgramError: if a program of the control plane fails.
    """
    frameworks = (*change.before.cluster.frameworks, *change.after.cluster.frameworks)
    crds = definitions(programs, crds_folder, dict.fromkeys(frameworks))
    settings = shared_settings(change.before, [change.after], crds)
    seconds: dict[str, float] = {}
    started = time.monotonic()
    with ControlPlane(programs, settings, progress) as plane:
        seconds["start"] = time.monotonic() - started
        started = time.monotonic()
        state = RunningState(plane, settings, crds, change.before)
        problems = state.apply(progress)
        seconds["state before"] = time.monotonic() - started
        started = time.monotonic()
        own = user_work(change.workloads, change.before.cluster) if change.workloads is not None else None
        problems += create_others(plane.client, own.others) if own else []
        work = list(own.work) if own else fillings(change.before.cluster)
        progress(f"starting {len(work)} workloads")
        not_started = state.fill(work)
        seconds["work"] = time.monotonic() - started
        progress("applying the change")
        observed = state.change_to(change.after)
        plane.require_alive()
        _, unserved = split_by_kind(plane.client, change.after.synced)
        notes = [*_notes(change, not_started, problems)]
        notes += [f"not applied, no such kind: {manifest}" for manifest in unserved]
        observed.seconds = seconds | observed.seconds
        cluster, kubeconfig = change.after.cluster, str(plane.kubeconfig)
        yield TransitionResult(
            **vars(observed),
            cluster=cluster.name,
            file=cluster.file,
            before=change.name,
            notes=tuple(notes),
            kubeconfig=kubeconfig,
        )


def compiled_state(root: Path, file: str) -> CompiledSpec:
    """Compiles a spec file of a fleet in memory.

    Raises:
        StageError: when the spec, a policy or a fact of the fleet has errors.
    """
    return compiled_from(root, read(root, file))


def compiled_from(root: Path, source: Source, *, keeps_namespaces: bool = False) -> CompiledSpec:
    """Compiles a merged spec. Elements that leave stay marked, because marking them is a change of people.

    All components are in their usual namespaces, because the control plane runs them there.

    keeps_namespaces: whether the components are in the namespaces of the spec instead.

    Raises:
        StageError: when the spec, a policy or a fact of the fleet has errors.
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
    yield "EC2NodeClasses are applied, but no controller reads them: the drift that they cause is not simulated."
    if names := ", ".join(_changed_node_classes(change)):
        yield f"The change contains EC2NodeClasses: {names}."
    yield (
        "Karpenter replaces drifted nodes within the disruption budgets, which can depend on the time of day. "
        "A drifted node that still runs at the end of the observation is reported as waiting."
    )
    yield "Charts are not installed: of their Helm values, only the configuration of Kueue and Karpenter is used."
    for workload, problem in not_started.items():
        yield f"{workload} did not run before the change, and is not observed: {problem}"
    for problem in problems:
        yield f"In the state before: {problem}"


def _changed_node_classes(change: Transition) -> list[str]:
    before = {manifest.name: manifest.document() for manifest in change.before.synced if manifest.kind == _NODE_CLASS}
    after = {manifest.name: manifest.document() for manifest in change.after.synced if manifest.kind == _NODE_CLASS}
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
