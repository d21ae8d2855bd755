"""`gpuc rehearse --argocd`: runs Argo CD with specs and writes the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cli.options import RehearsalOptions
from gpuc.cli.rehearsal_reports import Reports
from gpuc.diagnostics.usage import UsageError
from gpuc.rehearse.argocd.result import REPORT, SyncResult

if TYPE_CHECKING:
    from gpuc.diagnostics.report.output import ReportFile
    from gpuc.pipeline.stages import CompiledSpec
    from gpuc.rehearse.programs import ArgoPrograms, Programs

Progress = Callable[[str], None]


def require_compatible_options(options: RehearsalOptions) -> None:
    """Checks that no option lacks an option that it needs, and that no option excludes another option.

    Raises:
        UsageError: for --charts without --argocd, and for --argocd with --case.
    """
    if options.charts and not options.argocd:
        raise UsageError("--charts needs --argocd: only Argo CD renders charts")
    if options.argocd and options.case:
        raise UsageError("--argocd runs edits instead of test cases: remove --case")


def run_argocd(
    root: Path,
    files: Sequence[str],
    programs: Programs,
    options: RehearsalOptions,
    outputs: Sequence[ReportFile],
    progress: Progress,
) -> int:
    """Runs Argo CD with specs, writes the reports, and returns the exit code.

    `groups` decides which specs share a run. If a test fails, the exit code is 1.

    Raises:
        UsageError: for missing programs, invalid charts, and unsupported destinations.
        ProgramError: if a program fails.
    """
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.rehearse.programs import MissingProgramsError, find_argo_programs

    try:
        argo = find_argo_programs()
    except MissingProgramsError as error:
        raise UsageError(str(error)) from None
    reports = Reports(REPORT, options, outputs)
    for group in groups([compiled_spec(root, file) for file in files]):
        with _running(root, group, programs, argo, options, progress) as group_results:
            reports.add(group_results, "Argo CD and its clusters run until Ctrl-C.")
    reports.finish()
    return int(not all(result.is_good for result in reports.results))


def groups(specs: Sequence[CompiledSpec]) -> list[list[CompiledSpec]]:
    """Returns the specs of each run.

    If Argo CD runs in the cluster of a spec, the spec has a separate run. All other specs share one run.
    """
    from gpuc.rehearse.argocd.hub import workload_destination

    separate = [[spec] for spec in specs if workload_destination(spec.synced).is_own]
    others = [spec for spec in specs if not workload_destination(spec.synced).is_own]
    return [*separate, others] if others else separate


@contextmanager
def _running(
    root: Path,
    group: Sequence[CompiledSpec],
    programs: Programs,
    argo: ArgoPrograms,
    options: RehearsalOptions,
    progress: Progress,
) -> Iterator[list[SyncResult]]:
    """Yields the results of a run. The control planes end when the caller leaves the `with` block."""
    from gpuc.rehearse.argocd.http_handlers import ChartError
    from gpuc.rehearse.argocd.hub import ArgoCD
    from gpuc.rehearse.argocd.repository import RepositoryError
    from gpuc.rehearse.argocd.run import rehearse

    names = ", ".join(spec.cluster.name for spec in group)
    try:
        argocd = ArgoCD(programs, argo, root, group, options.charts, options.crds, progress)
        progress(f"{names}: starting Argo CD and the control planes")
        with argocd:
            yield rehearse(argocd, [(spec.cluster.name, spec.cluster.file) for spec in group], progress)
    except (ChartError, RepositoryError) as error:
        raise UsageError(str(error)) from None
