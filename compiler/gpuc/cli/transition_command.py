"""`gpuc rehearse --from`: rehearses the change from a revision or a folder, and writes the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuc.cli.options import RehearsalOptions
from gpuc.cli.rehearsal_reports import Reports
from gpuc.cli.specs import loaded_workloads
from gpuc.diagnostics.finding import StageError
from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.usage import UsageError

if TYPE_CHECKING:
    from gpuc.diagnostics.report.output import ReportFile
    from gpuc.pipeline.stages import CompiledSpec
    from gpuc.rehearse.programs import Programs
    from gpuc.rehearse.transition.result import TransitionResult
    from gpuc.rehearse.transition.run import Transition

Progress = Callable[[str], None]


def require_transition_options(options: RehearsalOptions) -> None:
    """Checks the options of a transition.

    Raises:
        UsageError: for --workloads without --from, and for --from with --case or --argocd.
    """
    if options.workloads and options.before is None:
        raise UsageError("--workloads needs --from: it names the work that runs before the change")
    for name, value in (("--case", options.case), ("--argocd", options.argocd)):
        if options.before is not None and value:
            raise UsageError(f"--from observes a change instead of test cases: remove {name}")


def run_transitions(
    root: Path,
    files: Sequence[str],
    programs: Programs,
    options: RehearsalOptions,
    outputs: Sequence[ReportFile],
    progress: Progress,
) -> int:
    """Runs the transition of each spec, writes the reports, and returns 0: an observation is not a failure.

    If a program fails, the reports have the transitions before the failure.

    Raises:
        UsageError: when the state before has no spec of a cluster, or its spec does not compile.
        ProgramError: if a program fails.
    """
    from gpuc.plan.revision import revision_root
    from gpuc.rehearse.transition.result import REPORT

    with revision_root(root, options.before) as before:
        changes = list(_transitions(before, root, files, options))
    reports = Reports(REPORT, options, outputs)
    try:
        for change in changes:
            with _result(change, programs, options, progress) as result:
                reports.add([result], f"The control plane of {result.cluster} runs until Ctrl-C.")
    finally:
        if reports.results:
            reports.finish()
    return 0


def _transitions(before: Path, root: Path, files: Sequence[str], options: RehearsalOptions) -> Iterator[Transition]:
    from gpuc.rehearse.transition.run import Transition

    workloads = _documents(options.workloads) if options.workloads else None
    present = [file for file in files if (before / file).is_file()]
    for file in files:
        if file not in present:
            write_message(f"{options.before} has no {file}: a new cluster has no work that a change disturbs")
    if not present:
        raise UsageError(f"{options.before} has none of the specs: a transition needs the spec of the state before")
    for file in present:
        old, new = _compiled(before, file, "the state before"), _compiled(root, file, "the state after")
        yield Transition(str(options.before), old, new, workloads)


def _compiled(root: Path, file: str, state: str) -> CompiledSpec:
    """Compiles a spec of a state.

    Raises:
        UsageError: when the spec does not compile.
    """
    from gpuc.pipeline.pipeline import located_errors
    from gpuc.rehearse.transition.run import compiled_from
    from gpuc.source import read

    try:
        return compiled_from(root, read(root, file))
    except StageError as error:
        first = next(finding for finding in located_errors(root, file, error) if finding.is_error)
        raise UsageError(f"{state} does not compile: {first.mark}: {first.message}") from None


@contextmanager
def _result(
    change: Transition, programs: Programs, options: RehearsalOptions, progress: Progress
) -> Iterator[TransitionResult]:
    from gpuc.rehearse.transition.run import transition

    name = change.after.cluster.name
    with transition(change, programs, options.crds, lambda step: progress(f"{name}: {step}")) as result:
        yield result


def _documents(folder: Path) -> list[dict[str, Any]]:
    """Returns the objects in the files of a folder, also with the metadata that shows which controller owns an object.

    Raises:
        UsageError: when the folder has no objects.
    """
    loaded = loaded_workloads(folder)
    return [loaded.document(manifest) for manifest in loaded.manifests]
