"""`gpuc plan` and `gpuc diff`: what a change of specs or manifests does to running clusters."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from gpuc.cli.objects import loaded_workloads
from gpuc.cli.reports import refused, write_reports
from gpuc.cli.specs import find_root, repository_prefix, select
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.impact import Level
from gpuc.plan.planner import Plans, plan_cluster, with_other_names
from gpuc.plan.report import render
from gpuc.plan.revision import revision_name, revision_root
from gpuc.plan.state import clusters_with_output, manifest_state, no_state, state_after, state_before
from gpuc.source import cluster_files


def run_plan(
    specs: list[str],
    against: str | None = None,
    workloads: Path | None = None,
    fail_on: str | None = None,
    strict: bool = False,
    form: str = "text",
    outputs: Sequence[ReportFile] = (),
) -> int:
    """Compares the specs with an earlier state, prints what the change does to the clusters, and returns the exit code.

    Args:
        specs: spec files and cluster names; empty for all clusters of both states.
        against: a revision or a folder; None for the merge base of HEAD and the default branch of origin.
        workloads: a folder with the objects of users that run in the cluster.
        fail_on: the least dangerous level at which the exit code is 1.

    Raises:
        UsageError: if the earlier state cannot be read.
    """
    root = find_root(Path.cwd())
    named = {Path(spec).stem for spec in specs}
    with closing(Progress(sys.stderr)) as progress, revision_root(root, against, named) as before:
        files = _selected(root, before, specs)
        findings: list[Finding] = []
        changes = list(_changes(root, before, files, _workloads(workloads), findings, progress))
        if findings:
            progress.close()
            return refused(root, findings, list(files), form)
        planned = tuple(plan_cluster(change) for change in with_other_names(changes))
    plans = Plans(revision_name(root, against), planned, repository_prefix(root))
    write_reports(lambda name, style: render(name, plans, style), form, outputs)
    return int((strict and any(plan.findings for plan in planned)) or plans.fails(_level(fail_on)))


def run_diff(
    old: str,
    new: str,
    workloads: Path | None = None,
    fail_on: str | None = None,
    form: str = "text",
    outputs: Sequence[ReportFile] = (),
) -> int:
    """Compares two files or folders of manifests, prints the report, and returns the exit code.

    Raises:
        UsageError: for paths that do not exist or have no objects.
    """
    (before, unread), (after, unread_after) = (manifest_state(path) for path in (old, new))
    plan = plan_cluster(Change(before, after, _workloads(workloads)))
    plans = Plans(old, (replace(plan, notes=(*plan.notes, *unread, *unread_after)),))
    write_reports(lambda name, style: render(name, plans, style), form, outputs)
    return int(plans.fails(_level(fail_on)))


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
        yield Change(state_before(before, name, old_file, compiled), after, workloads)


def _selected(root: Path, before: Path, specs: list[str]) -> dict[str, str]:
    """Returns the spec files of the clusters to plan, sorted by name; an empty string for a removed cluster.

    specs: spec files, and names of clusters of either state; empty for all clusters of both states.
    """
    present = _spec_files(root)
    removed = [name for name in clusters_with_output(before) if name not in present]
    if specs:
        files = select(root, Path.cwd(), [spec for spec in specs if spec not in removed]) or ()
        present = {Path(file).stem: file for file in files}
        removed = [name for name in removed if name in specs]
    return dict(sorted((present | dict.fromkeys(removed, "")).items()))


def _spec_files(root: Path) -> dict[str, str]:
    """Returns the spec file of each cluster, relative to the root, by the name of the cluster."""
    return {Path(file).stem: file for file in reversed(cluster_files(root))}  # the first file of a name counts


def _workloads(folder: Path | None) -> tuple[Manifest, ...]:
    """Returns the objects in the folder of --workloads."""
    return tuple(loaded_workloads(folder).manifests) if folder else ()


def _level(name: str | None) -> Level | None:
    return None if name is None else Level(name)
