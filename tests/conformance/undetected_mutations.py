"""Mutations of the example clusters that no check detects, planted in a control plane: all work ends as before.

`python -m tests.conformance.undetected_mutations [CLUSTER...]`. Each round plants one mutation of every object that has
one. Where a scene then ends in another way, it is played again with each mutation alone: that one needs a check.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.apply import apply_tree
from gpuc.rehearse.client import ApiError
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.health import wait_healthy
from gpuc.rehearse.runner import run_cases
from gpuc.rehearse.substitute import replacement_objects, simulated_document
from gpuc.rehearse.suites import Case, all_cases
from gpuc.rehearse.topology_labels import place_static_nodes
from tests.conformance.lane import Lane, lane
from tests.conformance.outcome import Check
from tests.conftest import EXAMPLES
from tests.lint.mutations.mutations import Mutation
from tests.lint.mutations.table import chosen_mutations, spec, undetected

HEALTH_SECONDS = 60
SETTLE_SECONDS = 3
"""Controllers take a moment until a change of what they read reaches their next decision."""
UNREAD = frozenset(
    ("Application", "ClusterPolicy", "DaemonSet", "NetworkPolicy", "PodMonitor", "PrometheusRule", "ServiceMonitor")
)
"""Kinds that no program of a rehearsal reads, as every rehearsal reports: it can show no harm there."""


@dataclass
class Result:
    """What planting them in one cluster showed."""

    name: str
    planted: int = 0
    rounds: int = 0
    scenes: int = 0
    unread: list[str] = field(default_factory=list)
    """Kinds of mutated objects that no program of a rehearsal reads: there a rehearsal shows nothing."""
    harmful: list[str] = field(default_factory=list)
    """Mutations that the control plane refuses, or that end a scene in another way."""
    seconds: float = 0

    def check(self) -> Check:
        """For the lane."""
        note = (
            f"{self.planted} planted in {self.rounds} rounds of {self.scenes} scenes, {self.seconds:.0f} s; "
            f"{len(self.unread)} in objects that no program here reads: {', '.join(sorted(set(self.unread)))}"
        )
        return Check(f"undetected mutations of {self.name}", "\n".join(self.harmful), note)


def run(name: str, progress: Callable[[str], None]) -> Result:
    """Plants the rows of the table that no test of an emitter covers, where some program reads the object."""
    started, compiled, result = time.monotonic(), spec(name), Result(name)
    table, synced = undetected(), {id(manifest) for manifest in compiled.synced}
    rows = [
        mutation
        for mutation in chosen_mutations(name)
        if (row := table.get(str(mutation))) and not row.covered_by and id(mutation.manifest) in synced
    ]
    result.unread = [mutation.manifest.kind for mutation in rows if mutation.manifest.kind in UNREAD]
    planned = list(rounds([mutation for mutation in rows if mutation.manifest.kind not in UNREAD]))
    result.planted, result.rounds = sum(map(len, planned)), len(planned)
    if planned:
        with lane(compiled, progress) as kept:
            _Planter(kept, compiled, result, progress).play_all(planned)
    result.seconds = time.monotonic() - started
    return result


def rounds(mutations: Sequence[Mutation]) -> Iterator[list[Mutation]]:
    """The mutations, one of each object at a time."""
    by_object: dict[int, list[Mutation]] = {}
    for mutation in mutations:
        by_object.setdefault(id(mutation.manifest), []).append(mutation)
    while by_object:
        yield [waiting.pop(0) for waiting in by_object.values()]
        by_object = {key: waiting for key, waiting in by_object.items() if waiting}


class _Planter:
    """Mutates an applied tree, plays, and mends it."""

    def __init__(self, kept: Lane, compiled: CompiledSpec, result: Result, progress: Callable[[str], None]) -> None:
        self._lane, self._spec, self._result, self._progress = kept, compiled, result, progress
        self._rehearsal = RehearsalContext(compiled, kept.client)
        self._scenes = list(all_cases(compiled.cluster))

    def play_all(self, planned: Sequence[list[Mutation]]) -> None:
        """Every round after the other, on the complete tree."""
        applied = apply_tree(
            self._lane.client, self._spec.synced, replacement_objects(self._spec.cluster), lambda line: None
        )
        lacking = place_static_nodes(self._lane.client, self._spec.cluster, HEALTH_SECONDS * 3)
        self._result.harmful += [
            f"unchanged: {trouble}" for trouble in (*applied.refusals, *applied.unhealthy, *lacking)
        ]
        self._result.scenes = len(self._scenes)
        for number, mutations in enumerate(planned, 1):
            different = self._played(mutations, self._scenes)
            self._progress(f"round {number}: {len(mutations)} mutations, {len(different)} scenes different")
            # A machine that is busy ends a scene late: what a mutation ends otherwise, it ends otherwise twice.
            self._blame(mutations, self._played(mutations, list(different.values())) if different else {})

    def _blame(self, mutations: Sequence[Mutation], different: dict[str, Case]) -> None:
        """Each mutation alone, in the scenes that all of them together ended in another way."""
        known = len(self._result.harmful)
        for mutation in mutations if different else ():
            for words in self._played([mutation], list(different.values())):
                self._result.harmful.append(f"{mutation}: {words}")
        if different and len(self._result.harmful) == known:
            self._result.harmful += [f"some of {len(mutations)} mutations together: {words}" for words in different]

    def _played(self, mutations: Sequence[Mutation], scenes: Sequence[Case]) -> dict[str, Case]:
        """Scenes that end in another way with mutations in the tree, by what happened."""
        planted = [mutation for mutation in mutations if self._plant(mutation)]
        time.sleep(SETTLE_SECONDS)
        try:
            played = run_cases(self._rehearsal, scenes, lambda scene: None)
        finally:
            self._mend(planted)
        return {
            f"{run.case.suite}/{run.case.name}: expected {run.case.expected.verdict}, got {run.actual.verdict} "
            f"{run.actual.by} {run.actual.message}": run.case
            for run in played
            if not run.passed
        }

    def _plant(self, mutation: Mutation) -> bool:
        document = simulated_document(mutation.manifest)
        try:
            if mutation.changed is None:
                self._lane.remove(document)
                self._lane.wait_gone([document])
            else:
                self._lane.client.apply(simulated_document(mutation.changed))
        except ApiError as error:
            self._result.harmful.append(f"{mutation}: refused: {error}")
            return False
        return True

    def _mend(self, planted: Sequence[Mutation]) -> None:
        for mutation in planted:
            self._lane.client.apply(simulated_document(mutation.manifest))
        if sick := wait_healthy(self._lane.client, self._spec.synced, HEALTH_SECONDS):
            raise AssertionError(f"not mended: {'; '.join(map(str, sick))}")


def main() -> int:
    """Runs from the command line; 1 where a mutation makes a difference."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = False
    for name in sys.argv[1:] or EXAMPLES:
        check = run(name, lambda line: print(line, flush=True)).check()
        failed = failed or bool(check.problem)
        print(f"{check.name}: {check.note}\n{check.problem}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
