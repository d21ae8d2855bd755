"""The edits that a run plays on a cluster after its first sync, in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.rehearse.argocd import plan
from gpuc.rehearse.argocd.applications import ChartSource, applications, chart_of
from gpuc.rehearse.argocd.arrival import key_of
from gpuc.rehearse.argocd.by_hand import hand_edits
from gpuc.rehearse.argocd.by_hand import play as play_by_hand
from gpuc.rehearse.argocd.departures import depart
from gpuc.rehearse.argocd.desk import ARRIVAL_SECONDS, Desk
from gpuc.rehearse.argocd.judge import Excuse, Failure, refusals, waits
from gpuc.rehearse.argocd.result import EditRun
from gpuc.rehearse.client import ApiError, WaitError

BAD_SECONDS = 60
"""From the commit to the refusal."""
MENDED_SECONDS = 150
"""From the commit that mends to the object: the next attempt of the failed sync is at most a minute away."""
MOVED_SECONDS = 240
LEAVERS = {"pool": plan.leaving_pools, "queue": plan.leaving_queues, "tenant": plan.leaving_tenants}
"""The elements that leave, by their kind, in the order in which they do."""
_POLICY = re.compile(r"(consolidationPolicy: )\w+")
_WRONG = "Sometimes"
_FIX = re.compile(r"^(v?\d+\.\d+\.)(\d+)$")


class Edits:
    """All edits of a cluster; what must not be judged as a refusal is collected on the way."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.excuses: list[Excuse] = []

    def play(self) -> Iterator[EditRun]:
        """Every edit, one after the other; each begins when all Applications are good again."""
        for name, step in self._steps():
            try:
                yield from step()
            except (ApiError, WaitError) as error:
                yield EditRun(name, "", "", None, ARRIVAL_SECONDS, note=f"ended in the middle: {error}")
            self.desk.settle(name)

    def first(self) -> Iterator[EditRun]:
        """One edit: what a run of several clusters plays on each of them."""
        yield self._grow()
        self.desk.settle("a pool grows")

    def _steps(self) -> Iterator[tuple[str, Callable[[], Iterator[EditRun]]]]:
        """Steps that look at the spec when it is their turn: the ones before have changed it."""
        yield "a pool grows", partial(_alone, self._grow)
        yield "a pool's instance types change", partial(_alone, self._instances)
        yield "a policy goes from warn to deny", partial(_alone, self._stricter)
        yield "edits by hand", self._by_hand
        yield "a chart's version moves", partial(_alone, self._chart)
        yield "a commit that cannot be applied", self._bad_commit
        for kind, leavers in LEAVERS.items():
            yield f"a {kind} leaves", partial(self._depart, kind, leavers)
        yield "a tenant is renamed", partial(_alone, self._rename)

    def _depart(self, kind: str, leavers: Callable[[Cluster], Iterator[plan.Departure]]) -> Iterator[EditRun]:
        yield from depart(self.desk, kind, leavers(self.desk.spec.cluster))

    def _grow(self) -> EditRun:
        return self.desk.play("a pool grows", plan.growths(self.desk.spec.cluster))

    def _instances(self) -> EditRun:
        return self.desk.play("a pool's instance types change", plan.other_instances(self.desk.spec.cluster))

    def _stricter(self) -> EditRun:
        return self.desk.play("a policy goes from warn to deny", plan.stricter_policies(self.desk.spec.cluster))

    def _rename(self) -> EditRun:
        with self.desk.nothing_deleted("a tenant is renamed"):
            return self.desk.play("a tenant is renamed", plan.renamed_tenants(self.desk.spec.cluster))

    def _by_hand(self) -> Iterator[EditRun]:
        edits = [play_by_hand(self.desk, edit) for edit in hand_edits(self.desk)]
        yield from edits or [EditRun("by hand", "", "", None, 0, skipped="there is no object to edit")]

    def _chart(self) -> EditRun:
        """The smallest change of a chart's version: the same content once more, as the next patch version."""
        name, desk = "a chart's version moves", self.desk
        for application, chart in _charts(desk):
            fitting = _FIX.match(chart.version)
            if fitting is not None:
                after = f"{fitting[1]}{int(fitting[2]) + 1}"
                desk.argocd.repackage(chart.name, chart.version, after)
                return self._moved(name, application, chart.version, after)
        return EditRun(name, "", "", None, MOVED_SECONDS, skipped="no Application's chart can be packaged again")

    def _moved(self, name: str, application: Manifest, before: str, after: str) -> EditRun:
        """The version is written into the compiled Application: the release set has no such version."""
        desk, called = self.desk, application.name
        path = desk.argocd.repository.root / application.file
        right = path.read_text(encoding="utf-8")
        path.write_text(right.replace(f"targetRevision: {before}", f"targetRevision: {after}"), encoding="utf-8")
        started = desk.commit(f"{name}: {called} {before} -> {after}")

        def moved() -> bool:
            seen = desk.watch.timeline.last.get(called)
            return seen is not None and after in seen.revision and seen.is_good

        taken = desk.watch.until(moved, MOVED_SECONDS)
        waited = tuple(waits(desk.watch.timeline, started, desk.watch.now))
        path.write_text(right, encoding="utf-8")
        desk.commit(f"{name}: {called} {after} -> {before}")
        note = "Synced and Healthy; then back" if taken is not None else ""
        return EditRun(name, f"{before} -> {after}", f"Application {called}", taken, MOVED_SECONDS, waited, note)

    def _bad_commit(self) -> Iterator[EditRun]:
        """A NodePool that the API server refuses, and the commit that mends it."""
        name, desk = "a commit that cannot be applied", self.desk
        candidate = next(plan.growths(desk.spec.cluster), None)
        pool = next((m for m in desk.spec.synced if candidate and (m.kind, m.name) == candidate.subject), None)
        if candidate is None or pool is None:
            yield EditRun(name, "", "", None, BAD_SECONDS, skipped="there is no NodePool")
            return
        path = desk.argocd.repository.root / pool.file
        right = path.read_text(encoding="utf-8")
        path.write_text(_POLICY.sub(rf"\g<1>{_WRONG}", right), encoding="utf-8")
        started = desk.commit(f"{name}: {pool}")
        taken = desk.watch.until(lambda: bool(self._refused(started)), BAD_SECONDS)
        seen = self._refused(started)
        words = seen[0].words if seen else "no Application says that it was refused"
        yield EditRun(name, f"consolidationPolicy: {_WRONG}", str(key_of(pool)), taken, BAD_SECONDS, (), words)
        path.write_text(right, encoding="utf-8")
        mended = desk.play("the commit that mends it", [candidate], MENDED_SECONDS)
        self.excuses += [Excuse(failure.application, started, desk.watch.now) for failure in seen]
        yield mended

    def _refused(self, since: float) -> list[Failure]:
        return [failure for failure in refusals(self.desk.watch.timeline) if failure.at >= since]


def _alone(made: Callable[[], EditRun]) -> Iterator[EditRun]:
    yield made()


def _charts(desk: Desk) -> list[tuple[Manifest, ChartSource]]:
    """Applications with a chart that can be rendered, the smallest chart first: what it restarts takes time here."""
    found = []
    for application in applications(desk.spec.synced):
        chart = chart_of(application.body["spec"])
        package = chart and desk.argocd.charts.find(chart.name, chart.version)
        if chart and package and application.name not in desk.argocd.not_rendered:
            found.append((package.file.stat().st_size, application, chart))
    return [(application, chart) for _, application, chart in sorted(found, key=lambda entry: entry[0])]
