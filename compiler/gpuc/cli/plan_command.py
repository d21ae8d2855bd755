"""`gpuc plan`: what the specs, as they are now, change in running clusters."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.diagnostics.finding import StageError
from gpuc.diagnostics.report.console import stdout_style, write_stdout
from gpuc.diagnostics.report.output import ReportFile, report_files
from gpuc.diagnostics.report.progress import Progress
from gpuc.plan.impact import Level
from gpuc.plan.planner import Plans

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Finding
    from gpuc.manifest.manifest import Manifest
    from gpuc.plan.change import Change
    from gpuc.plan.state import State


class PlanOptions:
    """The options of plan, with their defaults."""

    specs: list[str]
    """Spec files and cluster names; empty for all clusters of both states."""
    output: list[tuple[str, str]]
    against: str | None = None
    """A revision or a folder; None for the merge base of HEAD and the default branch of origin."""
    workloads: Path | None = None
    """A folder with the objects of users that run in the cluster."""
    format: str = "text"
    fail_on: str | None = None
    """The least dangerous level at which the exit code is 1."""
    strict: bool = False

    def __init__(self) -> None:
        self.output = []


class DiffOptions:
    """The options of diff, with their defaults."""

    old: str
    new: str
    output: list[tuple[str, str]]
    workloads: Path | None = None
    format: str = "text"
    fail_on: str | None = None

    def __init__(self) -> None:
        self.output = []


def run_plan(arguments: list[str]) -> int:
    """Runs `gpuc plan` and returns the exit code.

    Raises:
        UsageError: for wrong arguments, and if the state before cannot be read.
    """
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.refused import refused
    from gpuc.cli.specs import find_root, repository_prefix
    from gpuc.plan.revision import revision_name, revision_root

    options: PlanOptions = parser_of("plan").parse(arguments, PlanOptions())
    root = find_root(Path.cwd())
    progress = Progress(sys.stderr)
    with report_files(options.output) as outputs, closing(progress):
        with revision_root(root, options.against) as before:
            files = _selected(root, before, options.specs)
            findings: list[Finding] = []
            changes = list(_changes(root, before, files, _workloads(options.workloads), findings, progress))
            if findings:
                progress.close()
                return refused(root, findings, list(files), options.format)
            plans = _plans(changes, revision_name(root, options.against), repository_prefix(root))
        progress.close()
        _report(plans, options.format, outputs)
    is_strict = options.strict and any(plan.findings for plan in plans.clusters)
    return int(is_strict or plans.fails(_level(options.fail_on)))


def run_diff(arguments: list[str]) -> int:
    """Runs `gpuc diff` and returns the exit code.

    Raises:
        UsageError: for wrong arguments, and for paths that do not exist or have no objects.
    """
    from dataclasses import replace

    from gpuc.cli.arguments import parser_of
    from gpuc.plan.planner import plan_cluster
    from gpuc.plan.state import manifest_state

    options: DiffOptions = parser_of("diff").parse(arguments, DiffOptions())
    with report_files(options.output) as outputs:
        (old, unread), (new, unread_new) = (manifest_state(path) for path in (options.old, options.new))
        plan = plan_cluster(_change(old, new, _workloads(options.workloads)))
        plans = Plans(options.old, (replace(plan, notes=(*plan.notes, *unread, *unread_new)),))
        _report(plans, options.format, outputs)
    return int(plans.fails(_level(options.fail_on)))


def _changes(
    root: Path,
    before: Path,
    files: dict[str, str],
    workloads: tuple[Manifest, ...],
    findings: list[Finding],
    progress: Progress,
) -> Iterable[Change]:
    """Yields the change of each cluster. Adds the errors of specs to `findings`."""
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.plan.state import no_state, state_after, state_before

    old_files = _spec_files(before)
    for name, file in files.items():
        progress(f"planning {name}")
        compiled = None
        try:
            compiled = compiled_spec(root, file) if file else None
        except StageError as error:
            from gpuc.pipeline.pipeline import located_errors

            findings += located_errors(root, file, error)
            continue
        after = state_after(compiled) if compiled else no_state(name)
        old_file = file if (before / file).is_file() and file else old_files.get(name, "")
        yield _change(state_before(before, name, old_file, compiled), after, workloads)


def _change(before: State, after: State, workloads: tuple[Manifest, ...]) -> Change:
    from gpuc.plan.change import Change

    return Change(before, after, workloads)


def _selected(root: Path, before: Path, specs: list[str]) -> dict[str, str]:
    """Returns the spec files of the clusters to plan, sorted by name; an empty string for a removed cluster.

    specs: spec files, and names of clusters of either state; empty for all clusters of both states.
    """
    from gpuc.cli.specs import select
    from gpuc.plan.state import clusters_with_output

    present = _spec_files(root)
    removed = [name for name in clusters_with_output(before) if name not in present]
    if specs:
        files = select(root, Path.cwd(), [spec for spec in specs if spec not in removed]) or ()
        present = {Path(file).stem: file for file in files}
        removed = [name for name in removed if name in specs]
    return dict(sorted((present | dict.fromkeys(removed, "")).items()))


def _spec_files(root: Path) -> dict[str, str]:
    """Returns the spec file of each cluster, relative to the root, by the name of the cluster."""
    from gpuc.source import cluster_files

    return {Path(file).stem: file for file in reversed(cluster_files(root))}  # the first file of a name counts


def _workloads(folder: Path | None) -> tuple[Manifest, ...]:
    """Returns the objects in the folder of --workloads."""
    from gpuc.cli.specs import loaded_workloads

    return tuple(loaded_workloads(folder).manifests) if folder else ()


def _plans(changes: Iterable[Change], before: str, prefix: str) -> Plans:
    from gpuc.plan.planner import plan_cluster, with_other_names

    return Plans(before, tuple(plan_cluster(change) for change in with_other_names(changes)), prefix)


def _report(plans: Plans, form: str, outputs: list[ReportFile]) -> None:
    from gpuc.plan.report import render

    for output in outputs:
        output.write(render(output.format, plans))
    write_stdout(render(form, plans, stdout_style()))


def _level(name: str | None) -> Level | None:
    return None if name is None else Level(name)
