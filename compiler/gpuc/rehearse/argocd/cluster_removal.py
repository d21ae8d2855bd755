"""Removes the files of the cluster from Git, and adds them again: the change that `gpuc plan` reports as IMP508."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuc.rehearse.argocd.checks import Failure
from gpuc.rehearse.argocd.edit_runner import SYNCED_SECONDS, EditRunner
from gpuc.rehearse.argocd.manual_edits import sample_manual_edits, start_manual_edit
from gpuc.rehearse.argocd.object_diff import ARGO_CD_API, ObjectKey, is_deleted, key_of
from gpuc.rehearse.argocd.repository import application_of
from gpuc.rehearse.argocd.result import EditResult
from gpuc.rehearse.argocd.timeline import State
from gpuc.rehearse.argocd.watch import APPLICATION, NAMESPACE

NAME = "the cluster is removed from Git"
NOTICED_SECONDS = 120
"""Limit for the time from the commit until all Applications with files in Git report that the files are missing."""
UNCHANGED_SECONDS = 30
"""Time for which a manual edit must stay while the files are missing. Argo CD usually reverts an edit after 2 s."""
_COMPARISON_ERROR = "ComparisonError"


def run_cluster_removal(runner: EditRunner) -> Iterator[EditResult]:
    """Removes the files of the cluster in one commit, and adds the same files in the next commit.

    Between the commits, Argo CD must keep all objects and must not revert a manual edit. After the second commit, Argo
    CD must revert it. Yields the result of each commit.
    """
    readers = _with_files(runner)
    edit = next(sample_manual_edits(runner))
    keys = [key for key in map(key_of, runner.spec.synced) if not key.api.startswith(ARGO_CD_API)]
    present = [key for key in keys if not is_deleted(runner.client, key)]
    with _files_moved_away(runner) as files, runner.nothing_deleted(NAME):
        started = runner.commit(NAME)
        seconds = runner.watch.until(lambda: _all_noticed(runner, readers), NOTICED_SECONDS)
        is_reverted = start_manual_edit(runner.client, edit)
        if runner.watch.until(is_reverted, UNCHANGED_SECONDS) is not None:
            message = "Argo CD reverted a manual edit without files in Git"
            runner.failures.append(Failure("reverted", NAME, str(key_of(edit.manifest)), message, runner.watch.now))
        note = _note(runner, readers, present)
    moved, waited = ", ".join(files), runner.waits(started)
    yield EditResult(NAME, moved, "Applications that read files", seconds, NOTICED_SECONDS, waited, note)
    name = f"{NAME} and added again"
    started = runner.commit(name)
    seconds = runner.watch.until(is_reverted, SYNCED_SECONDS)
    note = "" if seconds is None else f"the manual edit is reverted: {edit.change}"
    subject, waited = str(key_of(edit.manifest)), runner.waits(started)
    yield EditResult(name, moved, subject, seconds, SYNCED_SECONDS, waited, note)


def _with_files(runner: EditRunner) -> list[str]:
    """Returns the names of the Applications of the cluster that read files of a Git repository."""
    found = map(application_of, runner.argocd.client.list_all(*APPLICATION, NAMESPACE))
    return [application.name for application in found if application.project == runner.name and application.git_sources]


@contextmanager
def _files_moved_away(runner: EditRunner) -> Iterator[list[str]]:
    """Moves the spec, the layers and the output of the cluster to another folder until the `with` block ends."""
    root, spec = runner.argocd.repository.root, Path(runner.file)
    paths = [str(spec), str(spec.with_suffix("")), f"out/{runner.name}", f"clusters/{runner.name}"]
    files = [path for path in paths if (root / path).exists()]
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(files):
            shutil.move(root / path, Path(folder, str(number)))
        try:
            yield files
        finally:
            for number, path in enumerate(files):
                shutil.move(Path(folder, str(number)), root / path)


def _all_noticed(runner: EditRunner, readers: list[str]) -> bool:
    return bool(readers) and all(map(_has_no_files, _states(runner, readers)))


def _states(runner: EditRunner, names: list[str]) -> Iterator[State]:
    last = runner.watch.timeline.last
    return (last[name] for name in names)


def _has_no_files(state: State) -> bool:
    """Returns whether Argo CD cannot compare the Application, so that it syncs nothing."""
    return state.sync == "Unknown" and any(kind == _COMPARISON_ERROR for kind, _ in state.conditions)


def _note(runner: EditRunner, readers: list[str], present: list[ObjectKey]) -> str:
    """Returns what the Applications report. Records a failure for each object that is missing in the cluster."""
    missing = [key for key in present if is_deleted(runner.client, key)]
    message = "is deleted, although no commit removes the object"
    runner.failures += [Failure("deleted", NAME, str(key), message, runner.watch.now) for key in missing]
    silent = [state.name for state in _states(runner, readers) if not _has_no_files(state)]
    others = [state.name for state in _states(runner, list(runner.applications)) if state.name not in readers]
    parts = [f"{len(readers) - len(silent)} of {len(readers)} Applications report {_COMPARISON_ERROR}"]
    parts += [f"without an error: {', '.join(silent)}"] if silent else []
    parts += [f"without files in Git: {', '.join(others)}"] if others else []
    parts.append(f"{len(present) - len(missing)} of {len(present)} objects stay")
    return "; ".join(parts)
