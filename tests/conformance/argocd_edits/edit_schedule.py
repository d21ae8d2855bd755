"""The list of edits that run on a cluster after the first sync."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gpuc.cluster.application import Source, applications
from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.model import Cluster
from gpuc.objects.object_set import dig
from gpuc_rehearsal.argocd.checks import Failure, refusals
from gpuc_rehearsal.argocd.timeline import APPLICATION, NAMESPACE, State, state_of
from gpuc_rehearsal.client import ApiError, WaitError
from gpuc_rehearsal.transition.synced_changes import ObjectKey, is_of_argo_cd, key_of
from tests.conformance.argocd_edits import sample_edits
from tests.conformance.argocd_edits.edit_result import EditResult
from tests.conformance.argocd_edits.edit_runner import (
    SYNCED_SECONDS,
    EditRunner,
    run_manual_edit,
    sample_manual_edits,
    start_manual_edit,
)
from tests.conformance.argocd_edits.published import repackage
from tests.conformance.argocd_edits.removals import run_removal

RENAME, REMOVAL = "a tenant is renamed", "the cluster is removed from Git"
NOTICED_SECONDS = 120
"""Limit for the time from the commit until all Applications with files in Git report that the files are missing."""
UNCHANGED_SECONDS = 30
"""Time for which a manual edit must stay while the files are missing. Argo CD usually reverts an edit after 2 s."""
_COMPARISON_ERROR = "ComparisonError"
REFUSED_SECONDS = 60
"""Limit for the time from the commit until the API server refuses the object."""
FIXED_SECONDS = 150
"""Limit for the time from the commit that fixes the object until the API server has the fixed object. Argo CD retries
within a minute."""
CHART_SECONDS = 240
"""Limit for the time from the commit of a new chart version until the Application is Synced and Healthy."""
SAMPLES = {
    "a pool grows": sample_edits.larger_pools,
    "a pool's instance types change": sample_edits.instance_type_changes,
    "a policy changes from warn to deny": sample_edits.stricter_policies,
}
"""Functions that list possible edits, by name of the edit, in the order of the schedule."""
REMOVALS = {
    "pool": sample_edits.removable_pools,
    "queue": sample_edits.removable_queues,
    "tenant": sample_edits.removable_tenants,
}
"""Functions that list possible removals, by kind of the removed element, in the order of the schedule."""
_POLICY = re.compile(r"(consolidationPolicy: )\w+")
_INVALID_POLICY = "Sometimes"
_PATCH_VERSION = re.compile(r"^(v?\d+\.\d+\.)(\d+)$")
Samples = Callable[[Cluster], Iterator[sample_edits.SampleEdit]]


def run_cluster_removal(runner: EditRunner) -> Iterator[EditResult]:
    """Removes the files of the cluster in one commit, and adds the same files in the next commit.

    Between the commits, Argo CD must keep all objects and must not revert a manual edit. After the second commit, Argo
    CD must revert it. Yields the result of each commit.
    """
    found = applications(map(manifest_of, runner.argocd.client.list_all(*APPLICATION, NAMESPACE)))
    readers = [read.name for read in found if read.project == runner.name and read.git_sources]
    edit = next(sample_manual_edits(runner))
    keys = [key for key in map(key_of, runner.spec.synced) if not is_of_argo_cd(key.api)]
    present = [key for key in keys if runner.client.find(*key)]
    with _files_moved_away(runner) as files, runner.nothing_deleted(REMOVAL):
        started = runner.commit(REMOVAL)
        seconds = runner.watch.until(lambda: _all_noticed(runner, readers), NOTICED_SECONDS)
        is_reverted = start_manual_edit(runner.client, edit)
        if runner.watch.until(is_reverted, UNCHANGED_SECONDS) is not None:
            message = "Argo CD reverted a manual edit without files in Git"
            runner.failures.append(Failure("reverted", REMOVAL, str(key_of(edit.manifest)), message, runner.watch.now))
        note = _note(runner, readers, present)
    moved, waited = ", ".join(files), runner.waits(started)
    yield EditResult(REMOVAL, moved, "Applications that read files", seconds, NOTICED_SECONDS, waited, note)
    name = f"{REMOVAL} and added again"
    started = runner.commit(name)
    seconds = runner.watch.until(is_reverted, SYNCED_SECONDS)
    note = "" if seconds is None else f"the manual edit is reverted: {edit.change}"
    subject, waited = str(key_of(edit.manifest)), runner.waits(started)
    yield EditResult(name, moved, subject, seconds, SYNCED_SECONDS, waited, note)


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
    missing = [key for key in present if not runner.client.find(*key)]
    message = "is deleted, although no commit removes the object"
    runner.failures += [Failure("deleted", REMOVAL, str(key), message, runner.watch.now) for key in missing]
    silent = [state.name for state in _states(runner, readers) if not _has_no_files(state)]
    others = [state.name for state in _states(runner, list(runner.applications)) if state.name not in readers]
    parts = [f"{len(readers) - len(silent)} of {len(readers)} Applications report {_COMPARISON_ERROR}"]
    parts += [f"without an error: {', '.join(silent)}"] if silent else []
    parts += [f"without files in Git: {', '.join(others)}"] if others else []
    parts.append(f"{len(present) - len(missing)} of {len(present)} objects stay")
    return "; ".join(parts)


class EditSchedule:
    """All edits of a cluster. The schedule records which refusals the edits provoke on purpose."""

    def __init__(self, runner: EditRunner) -> None:
        self.runner = runner
        self._refusals: list[tuple[str, float, float]] = []
        """(Application, start, end) of the refusals that an edit provokes."""

    def is_expected(self, state: State) -> bool:
        """Returns whether an edit provokes the refusals of an Application in a state."""
        return any(name == state.name and start <= state.at <= end for name, start, end in self._refusals)

    def run_all(self) -> Iterator[EditResult]:
        """Runs all edits. An edit starts when all Applications are Synced and Healthy after the previous edit."""
        for name, step in self._steps():
            try:
                yield from step()
            except (ApiError, WaitError) as error:
                yield EditResult(name, note=f"stopped by an error: {error}")
            self.runner.wait_until_synced(name)

    def run_one(self) -> Iterator[EditResult]:
        """Runs only the edit of a pool. This is the edit for every cluster of a run with several clusters."""
        name, samples = next(iter(SAMPLES.items()))
        yield from self._sampled(name, samples)
        self.runner.wait_until_synced(name)

    def _steps(self) -> Iterator[tuple[str, Callable[[], Iterator[EditResult]]]]:
        """Yields (name, function) of every edit. The functions read the current spec with the earlier edits."""
        for name, samples in SAMPLES.items():
            yield name, partial(self._sampled, name, samples)
        yield "manual edits", self._edit_manually
        yield "a chart's version changes", self._change_chart_version
        yield "a commit that the API server refuses", self._invalid_commit
        for kind, removals_of in REMOVALS.items():
            yield f"a {kind} is removed", partial(run_removal, self.runner, kind, removals_of(self.runner.spec.cluster))
        yield RENAME, self._rename_tenant
        yield REMOVAL, partial(run_cluster_removal, self.runner)

    def _sampled(self, name: str, samples: Samples) -> Iterator[EditResult]:
        yield self.runner.run_first(name, samples(self.runner.spec.cluster))

    def _rename_tenant(self) -> Iterator[EditResult]:
        with self.runner.nothing_deleted(RENAME):
            yield from self._sampled(RENAME, sample_edits.renamed_tenants)

    def _edit_manually(self) -> Iterator[EditResult]:
        edits = [run_manual_edit(self.runner, edit) for edit in sample_manual_edits(self.runner)]
        skipped = "the cluster has no object for a manual edit"
        yield from edits or [EditResult("manual edits", limit_s=0, skipped=skipped)]

    def _change_chart_version(self) -> Iterator[EditResult]:
        """Publishes a chart again with the next patch version, and commits this version for the chart's Application."""
        name, runner = "a chart's version changes", self.runner
        for source in _rendered_charts(runner):
            matched = _PATCH_VERSION.match(source.revision)
            if matched is not None:
                next_version = f"{matched[1]}{int(matched[2]) + 1}"
                repackage(runner.argocd, source, next_version)
                yield self._change_application(name, source.application, source.revision, next_version)
                return
        reason = "no Application has a chart with a version like 1.2.3 that can be packaged again"
        yield EditResult(name, limit_s=CHART_SECONDS, skipped=reason)

    def _change_application(self, name: str, application: Manifest, before: str, after: str) -> EditResult:
        """Edits the compiled Application, because gpuc does not know the new version, and then resets the file."""
        runner, application_name = self.runner, application.name
        path = runner.argocd.repository.root / application.file
        valid = path.read_text(encoding="utf-8")
        path.write_text(valid.replace(f"targetRevision: {before}", f"targetRevision: {after}"), encoding="utf-8")
        started = runner.commit(f"{name}: {application_name} {before} -> {after}")

        def has_new_version() -> bool:
            found = runner.argocd.client.find(*APPLICATION, application_name, NAMESPACE) or {}
            compared = dig(found, "status", "sync") or {}
            revisions = [compared.get("revision"), *compared.get("revisions", ())]
            return after in revisions and state_of(found, runner.watch.now).is_good

        seconds = runner.watch.until(has_new_version, CHART_SECONDS)
        waited = runner.waits(started)
        path.write_text(valid, encoding="utf-8")
        runner.commit(f"{name}: {application_name} {after} -> {before}")
        note = "Synced and Healthy, then reset to the earlier version" if seconds is not None else ""
        change, changed = f"{before} -> {after}", f"Application {application_name}"
        return EditResult(name, change, changed, seconds, CHART_SECONDS, waited, note)

    def _invalid_commit(self) -> Iterator[EditResult]:
        """Commits an invalid NodePool that the API server refuses, and then a valid NodePool."""
        name, runner = "a commit that the API server refuses", self.runner
        candidate = next(sample_edits.larger_pools(runner.spec.cluster), None)
        pool = next((m for m in runner.spec.synced if candidate and (m.kind, m.name) == candidate.subject), None)
        if candidate is None or pool is None:
            reason = "the cluster has no NodePool that can be edited"
            yield EditResult(name, limit_s=REFUSED_SECONDS, skipped=reason)
            return
        path = runner.argocd.repository.root / pool.file
        valid = path.read_text(encoding="utf-8")
        path.write_text(_POLICY.sub(rf"\g<1>{_INVALID_POLICY}", valid), encoding="utf-8")
        started = runner.commit(f"{name}: {pool}")
        seconds = runner.watch.until(lambda: bool(self._refused(started)), REFUSED_SECONDS)
        found = self._refused(started)
        message = found[0].message if found else "no Application reports a refusal"
        change = f"consolidationPolicy: {_INVALID_POLICY}"
        yield EditResult(name, change, str(key_of(pool)), seconds, REFUSED_SECONDS, (), message)
        path.write_text(valid, encoding="utf-8")
        fixed = runner.run_first("the commit that fixes the object", [candidate], FIXED_SECONDS)
        self._refusals += [(failure.application, started, runner.watch.now) for failure in found]
        yield fixed

    def _refused(self, since: float) -> list[Failure]:
        return [failure for failure in refusals(self.runner.watch.timeline) if failure.at >= since]


def _rendered_charts(runner: EditRunner) -> list[Source]:
    """Returns the available charts of Applications, smallest chart first: programs of large charts restart slowly."""
    found = []
    for application in applications(runner.spec.synced):
        source = application.chart
        package = source and runner.argocd.charts.find(source.chart, source.revision)
        if source and package and application.name not in runner.argocd.not_rendered:
            found.append((package.file.stat().st_size, source))
    return [source for _, source in sorted(found, key=lambda row: row[0])]
