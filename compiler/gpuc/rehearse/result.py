"""The result of a rehearsal of one spec, with the line of the spec for every test case and every problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuc.diagnostics.finding import Mark
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.apply import ApplyResult
from gpuc.rehearse.runner import CaseResult


@dataclass(frozen=True, slots=True)
class Problem:
    """An object that the control plane refused or changed, or that is not healthy."""

    kind: Literal["refused", "unhealthy", "unstable", "differs"]
    """Refused by the API server; not healthy after the timeout; changed by a second apply; stored with other values."""
    mark: Mark
    object: str
    """Kind, namespace and name."""
    message: str


@dataclass(frozen=True, slots=True)
class LocatedResult:
    """The result of a test case, with the tested line of the spec."""

    mark: Mark
    result: CaseResult


@dataclass(frozen=True)
class Result:
    """The result of a rehearsal."""

    cluster: str
    """Name of the cluster."""
    file: str
    """Path of the spec."""
    objects: int
    """Number of objects that the API server accepted."""
    problems: tuple[Problem, ...]
    cases: tuple[LocatedResult, ...]
    substitutions: tuple[str, ...]
    """Sentences about simulated and replaced parts of the cluster."""
    not_tested: tuple[str, ...]
    """Sentences about the behaviour that no test case checks."""
    seconds: Mapping[str, float]
    """Duration by step, in the order of the run."""
    memory_mib: int
    """Resident memory of all programs at the end of the run."""
    kubeconfig: Path

    @property
    def failed(self) -> tuple[LocatedResult, ...]:
        """Test cases whose actual outcome differs from the expected outcome."""
        return tuple(located for located in self.cases if not located.result.passed)

    @property
    def is_good(self) -> bool:
        """Whether no object has a problem and every test case has the expected outcome."""
        return not self.problems and not self.failed

    @property
    def refusals(self) -> int:
        """Number of test cases that expect a refusal."""
        return sum(located.result.case.is_refusal for located in self.cases)

    @property
    def distinct(self) -> int:
        """Number of test cases that differ in suite, queue, pool or request."""
        cases = (located.result.case for located in self.cases)
        return len({(case.suite, case.queue, case.pool, case.request or case.name) for case in cases})


def find_problems(spec: CompiledSpec, applied: ApplyResult) -> tuple[Problem, ...]:
    """Returns the problems of all applied objects, sorted by the lines of the spec that produce the objects."""

    def problem(
        kind: Literal["refused", "unhealthy", "unstable", "differs"], manifest: Manifest, message: str
    ) -> Problem:
        return Problem(kind, spec.locate(manifest), str(manifest), message)

    problems = [
        *(problem("refused", refusal.manifest, str(refusal.error)) for refusal in applied.refusals),
        *(problem("unhealthy", unhealthy.manifest, unhealthy.message) for unhealthy in applied.unhealthy),
        *(problem("unstable", manifest, "a second apply changed the object") for manifest in applied.unstable),
        *(problem("differs", manifest, str(difference)) for manifest, difference in applied.differences),
    ]
    return tuple(sorted(problems, key=lambda problem: (problem.mark.file, problem.mark.line, problem.object)))


def locate_results(spec: CompiledSpec, results: list[CaseResult]) -> tuple[LocatedResult, ...]:
    """Returns the results of test cases with the tested lines of the spec, sorted by line."""
    located = [LocatedResult(spec.source.locate(result.case.origin), result) for result in results]
    return tuple(sorted(located, key=lambda case: (case.mark.file, case.mark.line, case.result.case.suite)))
