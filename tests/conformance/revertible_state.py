"""A control plane from which changes are removed again, so that many changes of one state are observed on it."""

import time
from collections.abc import Iterable, Sequence

from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.apply import ARGO_CD, apply_object, namespaces, steps
from gpuc_rehearsal.client import FIELD_MANAGER, Client, Object
from gpuc_rehearsal.health import wait_healthy
from gpuc_rehearsal.substitute import replacement_objects
from gpuc_rehearsal.transition.filling import Filling
from gpuc_rehearsal.transition.outcomes import drifted, settle
from gpuc_rehearsal.transition.result import Observed
from gpuc_rehearsal.transition.run import RunningState, restart_changed
from gpuc_rehearsal.transition.snapshot import is_deleting, start_work, stop_work, take_snapshot, why_not_running
from gpuc_rehearsal.transition.synced_changes import ObjectKey, apply_change, diff_objects, is_of_argo_cd, key_of

HEALTH_SECONDS = 60
DELETION_SECONDS = 60
REFILL_SECONDS = 60
REVERTED_SECONDS = 1
"""Seconds for which the objects must stay the same after a change is removed."""
POLL_SECONDS = 0.3


class DryRunClient(Client):
    """A client whose requests change nothing."""

    def __init__(self, client: Client) -> None:
        self.__dict__.update(vars(client))

    def apply(self, document: Object, *, dry_run: bool = True, manager: str = FIELD_MANAGER) -> Object:
        """Sends the request as a dry run."""
        return super().apply(document, dry_run=True, manager=manager)

    def delete(self, api: str, kind: str, name: str, namespace: str = "", *, now: bool = True) -> None:
        """Does nothing."""


class RevertibleState(RunningState):
    """A control plane that runs the state before, also after the observation of a change."""

    explains_nodes = False

    @property
    def is_changed(self) -> bool:
        """Whether the control plane has the objects of the state after, from a change that was not reverted."""
        return self._present is not self.before_objects

    def check(self, after: CompiledSpec) -> Observed:
        """Sends the change as a dry run, for a change of objects that no program of the control plane reads."""
        return Observed(objects=apply_change(DryRunClient(self.client), self.before_objects, self._served(after)))

    def rebase(self, before: CompiledSpec, work: Sequence[Filling]) -> dict[str, str]:
        """Makes another state the state before; returns why workloads do not run, by their text.

        Work that runs also in the other state keeps running. The other work is stopped, and the given work is started.
        """
        queues = {queue.name for queue in before.cluster.queues}
        self._stop([filling for filling in self.work if filling.queue and filling.queue not in queues])
        self.before, self.before_objects = before, self._served(before)
        self._replace()
        settle(self.client, REVERTED_SECONDS)
        now = take_snapshot(self.client)
        self._stop([filling for filling in self.work if why_not_running(now, filling)])
        running = set(map(str, self.work))
        self.work += [filling for filling in work if str(filling) not in running]
        problems = self._refill()
        self._stop([filling for filling in self.work if str(filling) in problems])
        return problems

    def _stop(self, work: Sequence[Filling]) -> None:
        stop_work(self.client, work)
        self.work = [filling for filling in self.work if filling not in work]

    def revert(self) -> dict[str, str]:
        """Applies the state before again and restarts disturbed work; returns why workloads do not run."""
        self._replace()
        return self._refill()

    def _replace(self) -> None:
        """Makes the objects those of the state before, also where Argo CD would keep or ignore them."""
        present, wanted, spec = self._present, self.before_objects, self.before
        self._present = wanted
        self._settings = restart_changed(self.plane, self._settings, spec, self._definitions)
        change = diff_objects(present, wanted)
        for manifest in change.removed:
            self._remove(key_of(manifest))
        written = {key_of(manifest) for manifest in change.written}
        self._wait_until_deleted(written)
        for document in (*namespaces(wanted), *replacement_objects(spec.cluster)):
            self.client.apply(document, manager=ARGO_CD)
        for step in steps(wanted):
            changed = [manifest for manifest in step.manifests if key_of(manifest) in written]
            for manifest in changed:
                apply_object(self.client, manifest)
            wait_healthy(self.client, changed, HEALTH_SECONDS)
        self._place_static_nodes()

    def _wait_until_deleted(self, keys: Iterable[ObjectKey]) -> None:
        """Waits until the API server has deleted those of the objects that it is deleting. Work delays a deletion."""
        deleting = [key for key in keys if self._is_deleting(key)]
        if not deleting:
            return
        stop_work(self.client, self.work)
        deadline = time.monotonic() + DELETION_SECONDS
        while any(map(self._is_deleting, deleting)) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    def _is_deleting(self, key: ObjectKey) -> bool:
        if is_of_argo_cd(key.api) or not self.client.serves(key.api, key.kind):
            return False
        found = self.client.find(*key)
        return found is not None and is_deleting(found)

    def _refill(self) -> dict[str, str]:
        now = take_snapshot(self.client)
        stop_work(self.client, [filling for filling in self.work if why_not_running(now, filling)])
        problems = start_work(self.client, self.work, REFILL_SECONDS)
        earlier = drifted(self.snapshot)
        settle(self.client, REVERTED_SECONDS, lambda snapshot: drifted(snapshot) <= earlier)
        self._remember()
        return problems

    def _remove(self, key: ObjectKey) -> None:
        """Deletes an object that only the state after has."""
        if not is_of_argo_cd(key.api):
            self.client.delete(*key)
