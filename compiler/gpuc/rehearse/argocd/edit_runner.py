"""Runs edits: changes the spec, compiles it, commits the output, and waits until the API server has the change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuc.diagnostics.finding import StageError
from gpuc.pipeline.pipeline import compile_specs
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.rehearse.argocd.checks import Failure, unexpected_deletions, unfinished, wait_times
from gpuc.rehearse.argocd.protected_objects import protected_objects
from gpuc.rehearse.argocd.result import EditResult
from gpuc.rehearse.argocd.sample_edits import SampleEdit, Step
from gpuc.rehearse.argocd.spec_edit import SpecFile
from gpuc.rehearse.argocd.tree_diff import ObjectKey, TreeDiff, diff_trees, is_applied, is_deleted, key_of

if TYPE_CHECKING:
    from gpuc.rehearse.argocd.hub import ArgoCD
    from gpuc.rehearse.argocd.watch import Watch

APPLIED_SECONDS = 60
"""From the commit until the API server has the change. A later change counts as late."""
SYNCED_SECONDS = 240
"""From the change until all Applications are Synced and Healthy. Argo CD compares at least every 180 seconds."""


class EditRunner:
    """Runs edits on a cluster. Argo CD syncs the cluster from the working copy of the fleet."""

    def __init__(self, argocd: ArgoCD, cluster: str, file: str, watch: Watch, progress: Callable[[str], None]) -> None:
        """file is the path of the spec, relative to the root of the working copy."""
        self.argocd = argocd
        self.name = cluster
        self.file = file
        self.watch = watch
        self.progress = progress
        self.client = argocd.clusters[cluster]
        self.failures: list[Failure] = []
        self.spec: CompiledSpec = compiled_spec(argocd.repository.root, file)

    @property
    def applications(self) -> tuple[str, ...]:
        """Names of the cluster's Applications that Argo CD can render."""
        last = self.watch.timeline.last.values()
        return tuple(s.name for s in last if s.cluster == self.name and s.name not in self.argocd.not_rendered)

    def try_change(self, step: Step) -> list[str]:
        """Changes the spec and compiles it. Returns the errors; with errors, the spec and the output are unchanged."""
        root = self.argocd.repository.root
        spec = SpecFile(root, self.file)
        before = spec.path.read_text(encoding="utf-8")
        try:
            step(spec)
            found = compile_specs(root, [self.file], root, lambda line: None).findings
        except StageError as stop:
            found = tuple(stop.findings)
        except KeyError as error:
            spec.path.write_text(before, encoding="utf-8")
            return [f"{error} is not in {self.file}"]
        errors = [f"{finding.id} {finding.message}" for finding in found if finding.is_error]
        if errors:
            spec.path.write_text(before, encoding="utf-8")
        return errors

    def reload_spec(self) -> TreeDiff:
        """Loads the changed spec and returns the differences from the spec that was loaded before."""
        before, self.spec = self.spec, compiled_spec(self.argocd.repository.root, self.file)
        return diff_trees(before.synced, self.spec.synced)

    def restore(self, text: str) -> None:
        """Writes an earlier text of the spec and compiles it.

        Raises:
            RuntimeError: if the text does not compile.
        """
        root = self.argocd.repository.root
        (root / self.file).write_text(text, encoding="utf-8")
        findings = compile_specs(root, [self.file], root, lambda line: None).findings
        errors = [finding for finding in findings if finding.is_error]
        if errors:
            raise RuntimeError(f"{self.file} does not compile after its reset: {errors[0].message}")

    @property
    def spec_text(self) -> str:
        """The text of the spec in the working copy."""
        path = self.argocd.repository.root / self.file
        return path.read_text(encoding="utf-8")

    def commit(self, message: str) -> float:
        """Commits, pushes, and refreshes the Applications as a Git webhook does. Returns the time of the push."""
        self.progress(message)
        self.argocd.repository.commit(message)
        started = self.watch.now
        self.argocd.refresh(*self.applications)
        return started

    def run_first(self, name: str, samples: Iterable[SampleEdit], limit_s: float = APPLIED_SECONDS) -> EditResult:
        """Commits the first edit that compiles and waits until the API server has all its changes."""
        reason = "the spec has no element for this edit"
        for sample in samples:
            if errors := self.try_change(sample.apply):
                reason = f"{sample.change}: {errors[0]}"
                continue
            change = self.reload_spec()
            return self.commit_and_wait(name, sample.change, change, _written_key(change, *sample.subject), limit_s)
        return EditResult(name, "", "", None, limit_s, skipped=reason)

    def commit_and_wait(
        self, name: str, summary: str, change: TreeDiff, first: ObjectKey | None = None,
        limit_s: float = APPLIED_SECONDS, deleted: Iterable[ObjectKey] = (),
    ) -> EditResult:  # fmt: skip
        """Commits the output and waits until the API server has every written object and none of `deleted`.

        The result has the seconds until the object `first` was changed.
        """
        missing = {key_of(manifest): manifest for manifest in change.written}
        remaining = set(deleted)
        subject = first or next(iter(missing), None) or next(iter(remaining), None)
        seconds: float | None = None
        self.argocd.update_instance_types(self.spec)
        started = self.commit(f"{name}: {summary}")

        def complete() -> bool:
            nonlocal seconds
            for key, manifest in list(missing.items()):
                if is_applied(self.client, manifest):
                    del missing[key]
            remaining.difference_update([key for key in remaining if is_deleted(self.client, key)])
            if seconds is None and subject not in missing and subject not in remaining:
                seconds = self.watch.now - started
            return not missing and not remaining

        self.watch.until(complete, limit_s)
        done = self.watch.now - started
        self.argocd.require_alive()
        late = ", ".join(map(str, [*missing, *remaining]))
        count = len(change.written) + len(set(deleted))
        note = (
            f"not changed in time: {late}" if late else f"all {count} objects after {done:.1f} s" if count > 1 else ""
        )
        waited = tuple(wait_times(self.watch.timeline, started, self.watch.now))
        return EditResult(name, summary, change.summary(first), None if late else seconds, limit_s, waited, note)

    def wait_until_synced(self, name: str, limit_s: float = SYNCED_SECONDS) -> None:
        """Waits until every Application is Synced and Healthy. Records a failure for each Application that is not."""
        if self.watch.until(self._is_settled, limit_s) is None:
            found = unfinished(self.watch.timeline, self.watch.now, self._others())
            self.failures += [
                Failure(
                    "unfinished", failure.application, failure.object, f"after {name}: {failure.message}", failure.at
                )
                for failure in found
            ]

    @contextmanager
    def nothing_deleted(self, name: str, allowed: Iterable[str] = ()) -> Iterator[None]:
        """Records a failure for each protected object that is deleted within the block.

        Deletions of the objects in `allowed` ("Kind name") are correct.
        """
        cluster = self.spec.cluster
        before = protected_objects(self.client, cluster)
        yield
        after = protected_objects(self.client, cluster)
        self.failures += unexpected_deletions(before, after, allowed, name, self.watch.now)

    def _is_settled(self) -> bool:
        last = self.watch.timeline.last
        return all(last[name].is_good for name in self.applications)

    def _others(self) -> list[str]:
        own = set(self.applications)
        return [name for name in self.watch.timeline.last if name not in own]


def _written_key(change: TreeDiff, kind: str, name: str) -> ObjectKey | None:
    """The key of a written object by its kind and name, or None."""
    return next((key for key in change.fields if (key.kind, key.name) == (kind, name)), None)
