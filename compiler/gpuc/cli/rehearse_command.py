"""`gpuc rehearse`: from arguments to control planes, one per spec, and their reports."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cli.argocd_command import require_no_scenes, run_argocd
from gpuc.cli.options import RehearsalOptions
from gpuc.diagnostics.report.console import write_message, write_stdout
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.report.terminal import wants_colour
from gpuc.diagnostics.usage import UsageError
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.report import render
from gpuc.rehearse.result import Result, tried, troubles
from gpuc.rehearse.scenes import Scene

if TYPE_CHECKING:
    from gpuc.diagnostics.report.output import ReportFile
    from gpuc.rehearse.apply import Applied
    from gpuc.rehearse.plane import ControlPlane
    from gpuc.rehearse.programs import Programs

Say = Callable[[str], None]
STATIC_NODES_SECONDS = 60


def run_rehearsal(words: list[str]) -> int:
    """Rehearses specs and returns the exit code.

    Raises:
        UsageError: for words that it does not take, for scenes that no spec has, and for missing programs.
    """
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.specs import find_root, select
    from gpuc.rehearse.process import ProgramError
    from gpuc.source import cluster_files

    options: RehearsalOptions = parser_of("rehearse").parse(words, RehearsalOptions())
    require_no_scenes(options)
    root = find_root(Path.cwd())
    files = select(root, Path.cwd(), options.specs) or cluster_files(root)
    if options.keep and len(files) != 1 and not options.argocd:
        raise UsageError("--keep leaves one control plane up: name one spec")
    if not _compiles(root, files):
        return 1
    programs = _programs()
    outputs = _open(options)
    progress = Progress(sys.stderr)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.argocd:
            return run_argocd(root, files, programs, options, outputs, progress)
        results = list(_results(root, files, programs, options, progress))
        for output in outputs:
            output.write(render(output.format, results))
    except ProgramError as error:
        progress.close()
        sys.stderr.write(f"{error}\n")
        write_message("a program of the control plane failed; the end of its log stands above")
        return 3
    finally:
        progress.close()
        for output in outputs:
            output.discard()
    return int(not all(result.is_good for result in results))


def _results(
    root: Path, files: list[str], programs: Programs, options: RehearsalOptions, progress: Progress
) -> Iterator[Result]:
    """One after the other; text is printed as soon as there is some, the other formats are one document."""
    results = []
    for file in files:
        with _rehearsed(root, file, programs, options, progress) as result:
            results.append(result)
            progress.close()
            if options.format == "text":
                write_stdout(render("text", [result], colour=wants_colour(sys.stdout, os.environ)))
            elif file == files[-1]:
                write_stdout(render(options.format, results))
            if options.keep:
                _wait(result)
            yield result


@contextmanager
def _rehearsed(
    root: Path, file: str, programs: Programs, options: RehearsalOptions, progress: Progress
) -> Iterator[Result]:
    """A rehearsal of one spec; its control plane is up as long as the block runs."""
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.rehearse.crds import definitions
    from gpuc.rehearse.plane import ControlPlane
    from gpuc.rehearse.play import Played, play
    from gpuc.rehearse.session import Rehearsal
    from gpuc.rehearse.substitute import settings, substitutions
    from gpuc.rehearse.unjudged import unjudged

    spec = compiled_spec(root, file, as_staying=True)
    scenes = _chosen(spec, options.scene)
    crds = definitions(programs, options.crds, spec.cluster.spec.kueue.frameworks)
    name = spec.cluster.name
    say: Say = lambda step: progress(f"{name}: {step}")  # noqa: E731
    started = time.monotonic()
    say("starting the control plane")
    with ControlPlane(programs, settings(spec, crds), say) as plane, _interruptible(plane):
        seconds = {"start": time.monotonic() - started}
        applied = _applied(plane, spec, say)
        seconds |= applied.seconds
        started, done, bad = time.monotonic(), 0, 0

        def count(each: Played) -> None:
            nonlocal done, bad
            done, bad = done + 1, bad + (not each.agrees)
            say(f"{done} of {len(scenes)} scenes, {bad} different: {each.scene.family}/{each.scene.name}")

        played = play(Rehearsal(spec, plane.client), scenes, count)
        seconds["scenes"] = time.monotonic() - started
        plane.require_alive()
        yield Result(
            cluster=name,
            file=file,
            objects=applied.objects,
            troubles=troubles(spec, applied),
            tried=tried(spec, played),
            substitutions=tuple(substitutions(spec, crds)),
            unjudged=unjudged(spec.cluster),
            seconds=seconds,
            memory_mib=sum(plane.memory_mib().values()),
            kubeconfig=plane.kubeconfig,
        )


def _applied(plane: ControlPlane, spec: CompiledSpec, say: Say) -> Applied:
    """The tree, and the nodes that stand before any work comes."""
    from gpuc.rehearse.apply import apply_tree
    from gpuc.rehearse.fabric import place_static_nodes
    from gpuc.rehearse.health import Sickness
    from gpuc.rehearse.substitute import stand_ins

    applied = apply_tree(plane.client, spec.synced, stand_ins(spec.cluster), say)
    say("nodes of static pools")
    started = time.monotonic()
    lacking = place_static_nodes(plane.client, spec.cluster, STATIC_NODES_SECONDS)
    pools = [each for each in spec.synced if each.kind == "NodePool" and each.name in lacking]
    applied.sick += [Sickness(each, lacking[each.name]) for each in pools]
    applied.seconds["static nodes"] = time.monotonic() - started
    return applied


def _chosen(spec: CompiledSpec, patterns: list[str]) -> list[Scene]:
    from gpuc.rehearse.scenes import all_scenes

    scenes = [each for each in all_scenes(spec.cluster) if not patterns or any(matches(each, one) for one in patterns)]
    if not scenes:
        raise UsageError(f"{spec.cluster.name} has no scene like {' or '.join(patterns)}")
    return scenes


def matches(scene: Scene, pattern: str) -> bool:
    """Whether a pattern means a scene: a glob over "family/name", or a part of it."""
    glob = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"
    return fnmatchcase(f"{scene.family}/{scene.name}", glob)


def _compiles(root: Path, files: list[str]) -> bool:
    """Whether the specs have no errors; otherwise says what is wrong with them, as check does."""
    from gpuc.diagnostics.report import render as render_findings
    from gpuc.diagnostics.report.result import Report
    from gpuc.pipeline.pipeline import check_specs

    outcome = check_specs(root, files, root, False, lambda step: None)
    errors = tuple(finding for finding in outcome.findings if finding.is_error)
    if errors:
        report = Report(errors, outcome.clusters, lines=outcome.lines)
        write_stdout(render_findings("text", report, colour=wants_colour(sys.stdout, os.environ)))
    return not errors


def _programs() -> Programs:
    from importlib.util import find_spec

    from gpuc.rehearse.programs import MissingProgramsError, find_programs

    if find_spec("cryptography") is None:
        raise UsageError("certificates are made with the package cryptography: pip install 'gpuc[rehearse]'")
    try:
        return find_programs()
    except MissingProgramsError as error:
        raise UsageError(str(error)) from None


def _open(options: RehearsalOptions) -> list[ReportFile]:
    """Opens every file of --output, so that one that cannot be written is told before the work."""
    from gpuc.diagnostics.report.output import ReportFile

    return [ReportFile(form, file) for form, file in options.output]


@contextmanager
def _interruptible(plane: ControlPlane) -> Iterator[None]:
    """Ctrl-C ends the programs at once: scenes that still wait for them then fail instead of waiting."""

    def interrupted(number: int, frame: object) -> None:
        plane.__exit__(None, None, None)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(result: Result) -> None:
    write_stdout(f"export KUBECONFIG={result.kubeconfig}\nThe control plane of {result.cluster} runs until Ctrl-C.\n")
    try:
        signal.pause()
    except KeyboardInterrupt:
        return
