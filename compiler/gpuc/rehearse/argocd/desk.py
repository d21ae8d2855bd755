"""Where edits are made: a change of the spec, the compile, the commit, and the wait until the API server has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuc.diagnostics.finding import StageError
from gpuc.pipeline.pipeline import compile_specs
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.rehearse.argocd.arrival import Delta, Key, delta, has_arrived, is_gone, key_of
from gpuc.rehearse.argocd.holders import holders
from gpuc.rehearse.argocd.judge import Failure, deleted, unfinished, waits
from gpuc.rehearse.argocd.plan import Candidate, Step
from gpuc.rehearse.argocd.result import EditRun
from gpuc.rehearse.argocd.spec_edit import SpecFile

if TYPE_CHECKING:
    from gpuc.rehearse.argocd.hub import ArgoCD
    from gpuc.rehearse.argocd.watch import Watch

ARRIVAL_SECONDS = 60
"""A change that Git has and the API server has not after this time counts as late."""
SETTLE_SECONDS = 240
"""Argo CD compares every 120 to 180 seconds: what a missed event leaves is over by then."""


class Desk:
    """One cluster under Argo CD, and its spec in the working copy."""

    def __init__(self, argocd: ArgoCD, cluster: str, file: str, watch: Watch, say: Callable[[str], None]) -> None:
        """file is the spec, relative to the root of the working copy."""
        self.argocd = argocd
        self.name = cluster
        self.file = file
        self.watch = watch
        self.say = say
        self.client = argocd.clusters[cluster]
        self.failures: list[Failure] = []
        self.spec: CompiledSpec = compiled_spec(argocd.repository.root, file)

    @property
    def applications(self) -> tuple[str, ...]:
        """Names of the cluster's Applications that Argo CD can render."""
        last = self.watch.timeline.last.values()
        return tuple(s.name for s in last if s.cluster == self.name and s.name not in self.argocd.not_rendered)

    def errors(self, step: Step) -> list[str]:
        """Makes a change of the spec and compiles; with errors the spec is as before and nothing is written."""
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

    def compiled(self) -> Delta:
        """What the last change of the spec changes in the cluster; from now on it is the cluster's spec."""
        before, self.spec = self.spec, compiled_spec(self.argocd.repository.root, self.file)
        return delta(before.synced, self.spec.synced)

    def restore(self, text: str) -> None:
        """Writes the spec as it was and compiles.

        Raises:
            RuntimeError: when the text has errors now.
        """
        root = self.argocd.repository.root
        (root / self.file).write_text(text, encoding="utf-8")
        findings = compile_specs(root, [self.file], root, lambda line: None).findings
        errors = [finding for finding in findings if finding.is_error]
        if errors:
            raise RuntimeError(f"{self.file} does not compile any more: {errors[0].message}")

    @property
    def text(self) -> str:
        """The spec as it is in the working copy."""
        path = self.argocd.repository.root / self.file
        return path.read_text(encoding="utf-8")

    def commit(self, message: str) -> float:
        """Commits and pushes, then refreshes as a Git server's webhook does; the second at which the push had ended."""
        self.say(message)
        self.argocd.repository.commit(message)
        started = self.watch.now
        self.argocd.refresh(*self.applications)
        return started

    def play(self, name: str, candidates: Iterable[Candidate], limit_s: float = ARRIVAL_SECONDS) -> EditRun:
        """The first candidate that compiles, as a commit, until the API server has all that it changes."""
        refused = "the spec has nothing to change"
        for candidate in candidates:
            if errors := self.errors(candidate.apply):
                refused = f"{candidate.what}: {errors[0]}"
                continue
            change = self.compiled()
            return self.arrive(name, candidate.what, change, _key(change, *candidate.subject), limit_s)
        return EditRun(name, "", "", None, limit_s, skipped=refused)

    def arrive(
        self, name: str, what: str, change: Delta, first: Key | None = None, limit_s: float = ARRIVAL_SECONDS,
        gone: Iterable[Key] = (),
    ) -> EditRun:  # fmt: skip
        """Commits what was compiled and waits until the API server has every written object, and none of `gone`."""
        missing = {key_of(manifest): manifest for manifest in change.written}
        there = set(gone)
        subject = first or next(iter(missing), None) or next(iter(there), None)
        seconds: float | None = None
        self.argocd.offer(self.spec)
        started = self.commit(f"{name}: {what}")

        def complete() -> bool:
            nonlocal seconds
            for key, manifest in list(missing.items()):
                if has_arrived(self.client, manifest):
                    del missing[key]
            there.difference_update([key for key in there if is_gone(self.client, key)])
            if seconds is None and subject not in missing and subject not in there:
                seconds = self.watch.now - started
            return not missing and not there

        self.watch.until(complete, limit_s)
        done = self.watch.now - started
        self.argocd.require_alive()
        late = ", ".join(map(str, [*missing, *there]))
        count = len(change.written) + len(set(gone))
        note = f"not in time: {late}" if late else f"all {count} objects after {done:.1f} s" if count > 1 else ""
        waited = tuple(waits(self.watch.timeline, started, self.watch.now))
        return EditRun(name, what, change.text(first), None if late else seconds, limit_s, waited, note)

    def settle(self, name: str, limit_s: float = SETTLE_SECONDS) -> None:
        """Waits until every Application is good again; notes a failure for each that is not in time."""
        if self.watch.until(self._is_settled, limit_s) is None:
            found = unfinished(self.watch.timeline, self.watch.now, self._others())
            self.failures += [
                Failure("unfinished", failure.application, failure.object, f"after {name}: {failure.words}", failure.at)
                for failure in found
            ]

    @contextmanager
    def nothing_deleted(self, name: str, freed: Iterable[str] = ()) -> Iterator[None]:
        """Notes a failure for each object with work that is deleted within the block; `freed` are "Kind name"."""
        cluster = self.spec.cluster
        before = holders(self.client, cluster)
        yield
        after = holders(self.client, cluster)
        self.failures += deleted(before, after, freed, name, self.watch.now)

    def _is_settled(self) -> bool:
        last = self.watch.timeline.last
        return all(last[name].is_good for name in self.applications)

    def _others(self) -> list[str]:
        mine = set(self.applications)
        return [name for name in self.watch.timeline.last if name not in mine]


def _key(change: Delta, kind: str, name: str) -> Key | None:
    """The key of a written object."""
    return next((key for key in change.fields if (key.kind, key.name) == (kind, name)), None)
