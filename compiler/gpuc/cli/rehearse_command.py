"""`gpuc rehearse`: starts a control plane for each spec, runs the rehearsal, and writes the reports."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cli.argocd_command import require_compatible_options, run_argocd
from gpuc.cli.options import RehearsalOptions
from gpuc.cli.refused import refused_specs
from gpuc.cli.rehearsal_reports import Reports
from gpuc.cli.transition_command import require_transition_options, run_transitions
from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.report.output import report_files
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.usage import UsageError
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.result import REPORT, Result, find_problems, locate_results
from gpuc.rehearse.suites import Case

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Manifest
    from gpuc.rehearse.apply import ApplyResult
    from gpuc.rehearse.context import RehearsalContext
    from gpuc.rehearse.plane import ControlPlane
    from gpuc.rehearse.programs import Programs
    from gpuc.rehearse.runner import CaseResult

ReportStep = Callable[[str], None]
STATIC_NODES_SECONDS = 60


def run_rehearsal(arguments: list[str]) -> int:
    """Runs `gpuc rehearse` and returns the exit code.

    Raises:
        UsageError: for invalid arguments, patterns that match no test case, and missing programs.
    """
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.specs import find_root, selected_or_all
    from gpuc.rehearse.process import ProgramError

    options: RehearsalOptions = parser_of("rehearse").parse(arguments, RehearsalOptions())
    require_compatible_options(options)
    require_transition_options(options)
    root = find_root(Path.cwd())
    files = selected_or_all(root, options.specs)
    if options.keep and len(files) != 1 and not options.argocd:
        raise UsageError("--keep keeps one control plane running: name one spec")
    with report_files(options.output) as outputs:
        if code := refused_specs(root, files):
            return code
        programs = _programs()
        progress = Progress(sys.stderr, first_line_after=0)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            if options.argocd:
                return run_argocd(root, files, programs, options, outputs, progress)
            if options.before is not None:
                return run_transitions(root, files, programs, options, outputs, progress)
            reports = Reports(REPORT, options, outputs)
            for file in files:
                with _rehearse(root, file, programs, options, progress) as result:
                    progress.close()
                    reports.add([result], f"The control plane of {result.cluster} runs until Ctrl-C.")
            reports.finish()
        except ProgramError as error:
            progress.close()
            sys.stderr.write(f"{error}\n")
            write_message("a program of the control plane failed; see the end of its log above")
            return 3
        finally:
            progress.close()
    return int(not all(result.is_good for result in reports.results))


@contextmanager
def _rehearse(
    root: Path, file: str, programs: Programs, options: RehearsalOptions, progress: Progress
) -> Iterator[Result]:
    """Rehearses one spec and yields the result. The control plane ends when the caller leaves the `with` block."""
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.rehearse.context import RehearsalContext
    from gpuc.rehearse.crds import definitions
    from gpuc.rehearse.plane import ControlPlane
    from gpuc.rehearse.substitute import not_tested, settings, split_by_kind, substitutions

    spec = compiled_spec(root, file, for_rehearsal=True)
    cases = _select_cases(spec, options.case)
    crds = definitions(programs, options.crds, spec.cluster.frameworks)
    name = spec.cluster.name
    report_step: ReportStep = lambda step: progress(f"{name}: {step}")  # noqa: E731
    started = time.monotonic()
    report_step("starting the control plane")
    with ControlPlane(programs, settings(spec, crds), report_step) as plane, _interruptible(plane):
        seconds = {"start": time.monotonic() - started}
        served, unserved = split_by_kind(plane.client, spec.synced)
        applied = _apply_objects(plane, spec, served, report_step)
        seconds |= applied.seconds
        started = time.monotonic()
        results = _run_cases(RehearsalContext(spec, plane.client), cases, report_step)
        seconds["test cases"] = time.monotonic() - started
        plane.require_alive()
        yield Result(
            cluster=name,
            file=file,
            objects=applied.objects,
            problems=find_problems(spec, applied),
            cases=locate_results(spec, results),
            substitutions=tuple(substitutions(spec, crds)),
            not_tested=not_tested(spec.cluster, unserved),
            seconds=seconds,
            memory_mib=plane.memory_mib(),
            kubeconfig=plane.site.kubeconfig,
        )


def _run_cases(context: RehearsalContext, cases: list[Case], report_step: ReportStep) -> list[CaseResult]:
    """Runs the test cases, and reports after each test case how many have finished and how many have failed."""
    from gpuc.rehearse.runner import run_cases

    finished = failed = 0

    def count(result: CaseResult) -> None:
        nonlocal finished, failed
        finished, failed = finished + 1, failed + (not result.passed)
        case = result.case
        report_step(f"{finished} of {len(cases)} test cases, {failed} different: {case.suite}/{case.name}")

    return run_cases(context, cases, count)


def _apply_objects(
    plane: ControlPlane, spec: CompiledSpec, objects: list[Manifest], report_step: ReportStep
) -> ApplyResult:
    """Applies objects and waits for the nodes of static pools. A pool whose nodes are missing is unhealthy."""
    from gpuc.rehearse.apply import apply_objects
    from gpuc.rehearse.health import UnhealthyObject, place_static_nodes
    from gpuc.rehearse.substitute import replacement_objects
    from gpuc.trace.node_agents import without_agent_requests

    simulated = without_agent_requests(spec.cluster, objects)
    applied = apply_objects(plane.client, simulated, replacement_objects(spec.cluster), report_step)
    report_step("nodes of static pools")
    started = time.monotonic()
    incomplete = place_static_nodes(plane.client, spec.cluster, STATIC_NODES_SECONDS)
    pools = [manifest for manifest in spec.synced if manifest.kind == "NodePool" and manifest.name in incomplete]
    applied.unhealthy += [UnhealthyObject(pool, incomplete[pool.name]) for pool in pools]
    applied.seconds["static nodes"] = time.monotonic() - started
    return applied


def _select_cases(spec: CompiledSpec, patterns: list[str]) -> list[Case]:
    from gpuc.rehearse.suites import all_cases

    cases = [case for case in all_cases(spec) if not patterns or any(matches(case, pattern) for pattern in patterns)]
    if not cases:
        raise UsageError(f"no test case of {spec.cluster.name} matches {' or '.join(patterns)}")
    return cases


def matches(case: Case, pattern: str) -> bool:
    """Returns whether a pattern matches a test case.

    Args:
        pattern: a glob for "suite/name", or a text that "suite/name" contains.
    """
    glob = pattern if any(character in pattern for character in "*?[") else f"*{pattern}*"
    return fnmatchcase(f"{case.suite}/{case.name}", glob)


def _programs() -> Programs:
    from importlib.util import find_spec

    from gpuc.rehearse.programs import MissingProgramsError, find_programs

    if find_spec("cryptography") is None:
        raise UsageError("the Python package cryptography is missing: pip install 'cryptography>=42'")
    try:
        return find_programs()
    except MissingProgramsError as error:
        raise UsageError(str(error)) from None


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
