"""Rehearses one spec: applies the output to a control plane, and runs the test cases."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from gpuc.diagnostics.usage import UsageError
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.trace.node_agents import without_agent_requests
from gpuc_rehearsal.apply import ApplyResult, apply_objects, measured
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.existing import pool_kind
from gpuc_rehearsal.health import ObjectProblem, place_static_nodes
from gpuc_rehearsal.plane import ControlPlane
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.result import Result, find_problems, locate_results
from gpuc_rehearsal.runner import CaseResult, run_cases
from gpuc_rehearsal.substitute import not_tested, replacement_objects, settings, split_by_kind, substitutions
from gpuc_rehearsal.suites import Case, all_cases

Progress = Callable[[str], None]
STATIC_NODES_SECONDS = 60


@contextmanager
def rehearsal(
    root: Path, file: str, patterns: Sequence[str], programs: Programs, crds: Path | None, progress: Progress
) -> Iterator[list[Result]]:
    """Rehearses one spec and yields a list with the result. The control plane ends with the `with` block.

    Args:
        patterns: select the test cases; empty for all test cases.
        crds: a folder of CustomResourceDefinitions that replace those of the components.

    Raises:
        UsageError: when the patterns match no test case.
    """
    spec = compiled_spec(root, file, for_rehearsal=True)
    cases = [case for case in all_cases(spec) if not patterns or any(matches(case, pattern) for pattern in patterns)]
    if not cases:
        raise UsageError(f"no test case of {spec.cluster.name} matches {' or '.join(patterns)}")
    definitions_used = definitions(programs, crds, spec.cluster.frameworks, [spec.cluster.spec.cloud.substrate.folder])
    name = spec.cluster.name

    def report_step(step: str) -> None:
        progress(f"{name}: {step}")

    started = time.monotonic()
    report_step("starting the control plane")
    with ControlPlane(programs, settings(spec, definitions_used), report_step) as plane, _interruptible(plane):
        seconds = {"start": time.monotonic() - started}
        served, unserved = split_by_kind(plane.client, spec.synced)
        applied = _apply_objects(plane, spec, served, report_step)
        seconds |= applied.seconds
        with measured(seconds, "test cases"):
            results = _run_cases(RehearsalContext(spec, plane.client), cases, report_step)
        plane.require_alive()
        result = Result(
            cluster=name,
            file=file,
            objects=applied.objects,
            problems=find_problems(spec, applied),
            cases=locate_results(spec, results),
            substitutions=tuple(substitutions(spec, definitions_used)),
            not_tested=not_tested(spec.cluster, unserved),
            seconds=seconds,
            memory_mib=plane.memory_mib(),
            kubeconfig=plane.site.kubeconfig,
        )
        yield [result]


def _run_cases(context: RehearsalContext, cases: list[Case], report_step: Progress) -> list[CaseResult]:
    """Runs the test cases, and reports after each test case how many have finished and how many have failed."""
    finished = failed = 0

    def count(result: CaseResult) -> None:
        nonlocal finished, failed
        finished, failed = finished + 1, failed + (not result.passed)
        case = result.case
        report_step(f"{finished} of {len(cases)} test cases, {failed} different: {case.suite}/{case.name}")

    return run_cases(context, cases, count)


def _apply_objects(
    plane: ControlPlane, spec: CompiledSpec, objects: list[Manifest], report_step: Progress
) -> ApplyResult:
    """Applies objects and waits for the nodes of static pools. A pool whose nodes are missing is unhealthy."""
    simulated = without_agent_requests(spec.cluster, objects)
    applied = apply_objects(plane.client, simulated, replacement_objects(spec.cluster), report_step)
    report_step("nodes of static pools")
    with measured(applied.seconds, "static nodes"):
        incomplete = place_static_nodes(plane.client, spec.cluster, STATIC_NODES_SECONDS)
    _, kind = pool_kind(spec.cluster)
    pools = (manifest for manifest in spec.synced if manifest.kind == kind and manifest.name in incomplete)
    applied.unhealthy += [ObjectProblem(pool, incomplete[pool.name]) for pool in pools]
    return applied


def matches(case: Case, pattern: str) -> bool:
    """Returns whether a pattern matches a test case: a glob for "suite/name", or a text that "suite/name" contains."""
    glob = pattern if any(character in pattern for character in "*?[") else f"*{pattern}*"
    return fnmatchcase(f"{case.suite}/{case.name}", glob)


@contextmanager
def _interruptible(plane: ControlPlane) -> Iterator[None]:
    """Stops the control plane at once after Ctrl-C or SIGTERM, so that test cases do not wait any longer."""

    def interrupted(number: int, frame: object) -> None:
        plane.__exit__(None, None, None)
        raise KeyboardInterrupt

    handlers = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
