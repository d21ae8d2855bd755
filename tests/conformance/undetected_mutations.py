"""Applies the mutations that no check detects to a control plane, and shows that no test case fails.

`python -m tests.conformance.undetected_mutations [CLUSTER...]`. A round applies one mutation of every object that has
undetected mutations. If a test case fails, it is repeated with every mutation alone to find the harmful mutation.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.apply import apply_objects
from gpuc_rehearsal.client import ApiError
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.health import place_static_nodes, wait_healthy
from gpuc_rehearsal.runner import run_cases
from gpuc_rehearsal.substitute import replacement_objects, simulated_document
from gpuc_rehearsal.suites import Case, all_cases
from tests.conformance.check_result import CheckResult, print_progress, report
from tests.conformance.shared_plane import SharedControlPlane, shared_control_plane
from tests.conftest import EXAMPLES
from tests.lint.mutations.mutations import Mutation
from tests.lint.mutations.table import chosen_mutations, spec, undetected

HEALTH_SECONDS = 60
SETTLE_SECONDS = 3
"""Time in which controllers notice changed objects."""
UNREAD = frozenset(
    ("Application", "ClusterPolicy", "DaemonSet", "NetworkPolicy", "PodMonitor", "PrometheusRule", "ServiceMonitor")
)
"""Kinds that no program of a rehearsal reads, so a rehearsal cannot show that a mutation is harmful."""


@dataclass
class Result:
    """The result for a cluster."""

    name: str
    applied: int = 0
    rounds: int = 0
    cases: int = 0
    unread: list[str] = field(default_factory=list)
    """The kinds of the mutated objects that no program of a rehearsal reads; these mutations are not applied."""
    harmful: list[str] = field(default_factory=list)
    """Mutations that the API server refuses, or that make a test case fail."""
    seconds: float = 0

    def check(self) -> CheckResult:
        """The result for `make conformance`."""
        note = (
            f"{self.applied} mutations in {self.rounds} rounds of {self.cases} test cases, {self.seconds:.0f} s; "
            f"{len(self.unread)} mutations not applied, because no program of the rehearsal reads the kinds "
            f"{', '.join(sorted(set(self.unread)))}"
        )
        return CheckResult(
            f"no undetected mutation of {self.name} makes a test case fail", "\n".join(self.harmful), note
        )


def run(name: str, progress: Callable[[str], None]) -> Result:
    """Applies the mutations of the table, except those that a unit test covers and those of kinds that are not read."""
    started, compiled, result = time.monotonic(), spec(name), Result(name)
    table, synced = undetected(), {id(manifest) for manifest in compiled.synced}
    rows = [
        mutation
        for mutation in chosen_mutations(name)
        if (row := table.get(str(mutation))) and not row.covered_by and id(mutation.manifest) in synced
    ]
    result.unread = [mutation.manifest.kind for mutation in rows if mutation.manifest.kind in UNREAD]
    planned = list(rounds([mutation for mutation in rows if mutation.manifest.kind not in UNREAD]))
    result.applied, result.rounds = sum(map(len, planned)), len(planned)
    if planned:
        with shared_control_plane(compiled, progress) as plane:
            _Runner(plane, compiled, result, progress).run_all(planned)
    result.seconds = time.monotonic() - started
    return result


def rounds(mutations: Sequence[Mutation]) -> Iterator[list[Mutation]]:
    """Groups mutations into rounds with at most one mutation of an object."""
    by_object: dict[int, list[Mutation]] = {}
    for mutation in mutations:
        by_object.setdefault(id(mutation.manifest), []).append(mutation)
    while by_object:
        yield [waiting.pop(0) for waiting in by_object.values()]
        by_object = {key: waiting for key, waiting in by_object.items() if waiting}


class _Runner:
    """Mutates applied objects, runs test cases, and restores the objects."""

    def __init__(
        self, plane: SharedControlPlane, compiled: CompiledSpec, result: Result, progress: Callable[[str], None]
    ) -> None:
        self._plane, self._spec, self._result, self._progress = plane, compiled, result, progress
        self._rehearsal = RehearsalContext(compiled, plane.client)
        self._cases = list(all_cases(compiled))

    def run_all(self, planned: Sequence[list[Mutation]]) -> None:
        """Runs the rounds one after another, on all objects of the spec."""
        applied = apply_objects(
            self._plane.client, self._spec.synced, replacement_objects(self._spec.cluster), lambda line: None
        )
        missing = place_static_nodes(self._plane.client, self._spec.cluster, HEALTH_SECONDS * 3)
        self._result.harmful += [
            f"without mutations: {problem}" for problem in (*applied.refusals, *applied.unhealthy, *missing)
        ]
        self._result.cases = len(self._cases)
        for number, mutations in enumerate(planned, 1):
            failed = self._run(mutations, self._cases)
            self._progress(f"round {number}: {len(mutations)} mutations, {len(failed)} test cases failed")
            # A test case can also fail because the machine is busy, so the failed test cases run twice.
            self._find_harmful(mutations, self._run(mutations, list(failed.values())) if failed else {})

    def _find_harmful(self, mutations: Sequence[Mutation], failed: dict[str, Case]) -> None:
        """Repeats the failed test cases with every mutation alone."""
        known = len(self._result.harmful)
        for mutation in mutations if failed else ():
            for failure in self._run([mutation], list(failed.values())):
                self._result.harmful.append(f"{mutation}: {failure}")
        if failed and len(self._result.harmful) == known:
            self._result.harmful += [f"several of {len(mutations)} mutations together: {failure}" for failure in failed]

    def _run(self, mutations: Sequence[Mutation], cases: Sequence[Case]) -> dict[str, Case]:
        """Failed test cases by a description of the failure."""
        applied = [mutation for mutation in mutations if self._apply(mutation)]
        time.sleep(SETTLE_SECONDS)
        try:
            results = run_cases(self._rehearsal, cases, lambda result: None)
        finally:
            self._restore(applied)
        return {
            f"{result.case.suite}/{result.case.name}: expected {result.case.expected.verdict}, "
            f"actual {result.actual.verdict} {result.actual.by} {result.actual.message}": result.case
            for result in results
            if not result.passed
        }

    def _apply(self, mutation: Mutation) -> bool:
        document = simulated_document(mutation.manifest)
        try:
            if mutation.changed is None:
                self._plane.client.delete_object(document)
                self._plane.wait_removed([document])
            else:
                self._plane.client.apply(simulated_document(mutation.changed))
        except ApiError as error:
            self._result.harmful.append(f"{mutation}: the API server refused the object: {error}")
            return False
        return True

    def _restore(self, applied: Sequence[Mutation]) -> None:
        for mutation in applied:
            self._plane.client.apply(simulated_document(mutation.manifest))
        if unhealthy := wait_healthy(self._plane.client, self._spec.synced, HEALTH_SECONDS):
            raise AssertionError(f"unhealthy after the mutations were undone: {'; '.join(map(str, unhealthy))}")


def main() -> int:
    """Runs the mutations of the given clusters, or of all examples; returns 1 if a mutation is harmful."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return report(run(name, print_progress).check() for name in sys.argv[1:] or EXAMPLES)


if __name__ == "__main__":
    sys.exit(main())
