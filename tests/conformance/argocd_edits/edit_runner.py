"""Runs edits: commits a changed spec or edits a live object, and waits until the cluster has the objects of Git."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cluster.application import applications
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.pipeline.pipeline import compile_specs
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.plan.impacts.admission.policies import LABEL
from gpuc_rehearsal.argocd.checks import Failure, unfinished
from gpuc_rehearsal.argocd.timeline import Timeline
from gpuc_rehearsal.autoscaler import autoscalers
from gpuc_rehearsal.client import ApiError, Client, Object, is_true
from gpuc_rehearsal.context import CLUSTER_QUEUE, NODE, POD, WORKLOAD
from gpuc_rehearsal.transition.synced_changes import ObjectKey, key_of
from tests.conformance.argocd_edits.deletions import ProtectedObject, unexpected_deletions
from tests.conformance.argocd_edits.edit_result import (
    APPLIED_SECONDS,
    EditResult,
    ObjectChanges,
    is_applied,
    object_changes,
    wait_times,
)
from tests.conformance.argocd_edits.published import update_instance_types
from tests.conformance.argocd_edits.sample_edits import Edits, SampleEdit, apply_edits

if TYPE_CHECKING:
    from gpuc_rehearsal.argocd.hub import ArgoCD
    from gpuc_rehearsal.argocd.timeline import Watch

SYNCED_SECONDS = 240
"""Limit for the time from the change until all Applications are Synced and Healthy."""
HEAL_SECONDS = 60
"""Limit for the time until Argo CD reverts an edit. The delay increases with every self-heal of the same commit: 2 s,
6 s, 18 s, 54 s."""


class EditRunner:
    """Runs edits on a cluster. Argo CD syncs the cluster from the commits of the working copy."""

    def __init__(
        self, argocd: "ArgoCD", cluster: str, file: str, watch: "Watch", progress: Callable[[str], None]
    ) -> None:
        """Loads the compiled spec.

        cluster is the name of the cluster. file is the path of the spec, relative to the working copy's root.
        """
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
        """Names of the cluster's Applications, without the Applications that cannot be rendered."""
        last = self.watch.timeline.last.values()
        return tuple(s.name for s in last if s.cluster == self.name and s.name not in self.argocd.not_rendered)

    def try_change(self, edits: Edits) -> list[str]:
        """Changes the spec, compiles the spec and returns the errors. If there are errors, the change is undone."""
        before = self.spec_text
        try:
            apply_edits(self.argocd.repository.root, self.file, edits)
            errors = self._compile()
        except StageError as stop:
            errors = _errors(stop.findings)
        except KeyError as error:
            errors = [f"key {error} is not in {self.file}"]
        if errors:
            self._path.write_text(before, encoding="utf-8")
        return errors

    def _compile(self) -> list[str]:
        """Compiles the spec, writes the output, and returns the errors."""
        root = self.argocd.repository.root
        return _errors(compile_specs(root, [self.file], root, lambda line: None).findings)

    def reload_spec(self) -> ObjectChanges:
        """Loads the changed spec and returns the differences from the previously loaded spec."""
        before, self.spec = self.spec, compiled_spec(self.argocd.repository.root, self.file)
        return object_changes(before.synced, self.spec.synced)

    def restore(self, text: str) -> None:
        """Resets the spec to an earlier text and compiles the spec.

        Raises:
            RuntimeError: if the text does not compile.
        """
        self._path.write_text(text, encoding="utf-8")
        if errors := self._compile():
            raise RuntimeError(f"{self.file} does not compile after the reset to an earlier text: {errors[0]}")

    @property
    def _path(self) -> Path:
        return self.argocd.repository.root / self.file

    @property
    def spec_text(self) -> str:
        """The text of the spec in the working copy."""
        return self._path.read_text(encoding="utf-8")

    def commit(self, message: str) -> float:
        """Commits, pushes, and refreshes the Applications as a Git webhook does.

        Returns the time of the push, in seconds since the start of the watch.
        """
        self.progress(message)
        self.argocd.repository.commit(message)
        started = self.watch.now
        self.argocd.refresh(*self.applications)
        return started

    def run_first(self, name: str, samples: Iterable[SampleEdit], limit_s: float = APPLIED_SECONDS) -> EditResult:
        """Commits the first sample edit that compiles, and waits until the API server has all changes of the edit.

        If no sample compiles, the edit is skipped with the first error of the last sample.
        """
        reason = "the spec has no element for this edit"
        for sample in samples:
            if errors := self.try_change(sample.edits):
                reason = f"{sample.change}: {errors[0]}"
                continue
            change = self.reload_spec()
            subject = next((key for key in change.lines if (key.kind, key.name) == sample.subject), None)
            return self.commit_and_wait(name, sample.change, change, subject, limit_s)
        return EditResult(name, limit_s=limit_s, skipped=reason)

    def waits(self, started: float) -> tuple[str, ...]:
        """Returns how long Applications have waited since a time, longest wait first."""
        return wait_times(self.watch.timeline, started, self.watch.now)

    def commit_and_wait(
        self, name: str, summary: str, change: ObjectChanges, subject: ObjectKey | None = None,
        limit_s: float = APPLIED_SECONDS, deleted: Iterable[ObjectKey] = (),
    ) -> EditResult:  # fmt: skip
        """Commits the output, and waits until the API server has every written object and none of `deleted`.

        The result contains the seconds until the object `subject` was changed. Without a subject, this is the first
        written object, or the first deleted object. Objects of Applications that cannot be rendered are not awaited.
        """
        written = list(self._rendered(change.written))
        unapplied = {key_of(manifest): manifest for manifest in written}
        undeleted = set(deleted)
        measured = subject or next(iter(unapplied), None) or next(iter(undeleted), None)
        seconds: float | None = None
        update_instance_types(self.argocd, self.spec)
        started = self.commit(f"{name}: {summary}")

        def complete() -> bool:
            nonlocal seconds
            for key, manifest in list(unapplied.items()):
                if is_applied(self.client, manifest):
                    del unapplied[key]
            undeleted.difference_update([key for key in undeleted if not self.client.find(*key)])
            if seconds is None and measured not in unapplied and measured not in undeleted:
                seconds = self.watch.now - started
            return not unapplied and not undeleted

        self.watch.until(complete, limit_s)
        total_s = self.watch.now - started
        self.argocd.require_alive()
        late = ", ".join(map(str, [*unapplied, *undeleted]))
        count = len(written) + len(set(deleted))
        all_changed = f"all {count} objects were changed after {total_s:.1f} s" if count > 1 else ""
        note = f"not changed in time: {late}" if late else all_changed
        taken, waited = None if late else seconds, self.waits(started)
        return EditResult(name, summary, change.summary(subject), taken, limit_s, waited, note)

    def wait_until_synced(self, name: str, limit_s: float = SYNCED_SECONDS) -> None:
        """Waits until every Application is Synced and Healthy. name is the name of the last edit.

        After limit_s, records a failure for each Application that is not Synced and Healthy.
        """
        if self.watch.until(self._is_synced, limit_s) is None:
            own = Timeline(state for state in self.watch.timeline if state.name in self.applications)
            found = unfinished(own, self.watch.now)
            self.failures += [
                failure._replace(message=f'after the edit "{name}": {failure.message}') for failure in found
            ]

    @contextmanager
    def nothing_deleted(self, name: str, allowed: Iterable[str] = ()) -> Iterator[None]:
        """Records a failure for each protected object that is deleted within the `with` block.

        Args:
            name: the name of the edit.
            allowed: objects that the edit may delete, as "Kind name".
        """
        cluster = self.spec.cluster
        before = _protected_objects(self.client, cluster)
        yield
        after = _protected_objects(self.client, cluster)
        self.failures += unexpected_deletions(before, after, allowed, name, self.watch.now)

    def _rendered(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """Yields the manifests without those in folders of Applications that cannot be rendered."""
        repository = self.argocd.repository
        folders = [
            repository.top / source.folder
            for application in applications(self.spec.synced)
            if application.name in self.argocd.not_rendered
            for source in application.git_sources
            if source.folder
        ]
        for manifest in manifests:
            if not any((repository.root / manifest.file).is_relative_to(folder) for folder in folders):
                yield manifest

    def _is_synced(self) -> bool:
        last = self.watch.timeline.last
        return all(last[name].is_good for name in self.applications)


def _protected_objects(client: Client, cluster: Cluster) -> dict[str, ProtectedObject]:
    """Returns the objects on which running workloads depend, by "Kind name": NodePools, ClusterQueues, Namespaces."""
    workloads = dict(_workloads(client, cluster))
    found = {}
    for api, kind in (*(autoscaler.pool for autoscaler in autoscalers()), CLUSTER_QUEUE, ("v1", "Namespace")):
        for stored in client.list_all(api, kind) if client.serves(api, kind) else ():
            metadata = stored["metadata"]
            if kind != "Namespace" or metadata["name"] in cluster.tenant_namespaces:
                key = f"{kind} {metadata['name']}"
                found[key] = ProtectedObject(metadata["uid"], "deletionTimestamp" in metadata, workloads.get(key, ""))
    return found


def _workloads(client: Client, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yields ("Kind name" of an object, a running pod or an admitted Workload that uses the object)."""
    nodes = (node["metadata"] for node in client.list_all(*NODE, labels=POOL_LABEL))
    pools = {metadata["name"]: metadata["labels"].get(POOL_LABEL) for metadata in nodes}
    for namespace in cluster.tenant_namespaces:
        for pod in client.list_all(*POD, namespace):
            if pod.get("status", {}).get("phase") == "Running":
                pod_name = f"pod {namespace}/{pod['metadata']['name']}"
                yield f"Namespace {namespace}", pod_name
                yield f"NodePool {pools.get(pod['spec'].get('nodeName', ''))}", pod_name
    for workload in client.list_all(*WORKLOAD) if client.serves(*WORKLOAD) else ():
        queue = workload.get("status", {}).get("admission", {}).get("clusterQueue")
        if queue and not is_true(workload, "Finished"):
            metadata = workload["metadata"]
            yield f"ClusterQueue {queue}", f"Workload {metadata['namespace']}/{metadata['name']}"


def _errors(findings: Iterable[Finding]) -> list[str]:
    return [f"{finding.id} {finding.message}" for finding in findings if finding.is_error]


@dataclass(frozen=True)
class ManualEdit:
    """An edit of a live object."""

    name: str
    change: str
    manifest: Manifest
    """The object in Git."""
    changes: Object | None
    """The merge patch of the object; None for its deletion."""

    def apply(self, client: Client) -> None:
        """Edits the live object. Raises ApiError if the server or a policy refuses the edit."""
        if self.changes is None:
            client.delete(*key_of(self.manifest))
        else:
            client.patch_object(self.manifest.document(), self.changes)


def sample_manual_edits(runner: EditRunner, except_pool: str = "") -> Iterator[ManualEdit]:
    """Yields an edit for some kinds of objects. Objects with the name `except_pool` are not edited."""
    synced = [manifest for manifest in runner.spec.synced if manifest.name != except_pool]
    if pool := _first(synced, "NodePool"):
        yield _limit(pool)
    if queue := _first(synced, "ClusterQueue"):
        yield _quota(queue)
    for kind in ("NetworkPolicy", "LocalQueue"):
        if found := _first(synced, kind):
            yield ManualEdit(f"a {kind} is deleted", "deleted", found, None)
    namespaces = [manifest for manifest in synced if manifest.kind == "Namespace" and LABEL in manifest.labels]
    if strict := next((space for space in namespaces if space.labels[LABEL] != "privileged"), None):
        yield _label(strict)


def run_manual_edit(runner: EditRunner, edit: ManualEdit, prefix: str = "manual edit") -> EditResult:
    """Edits the live object and waits until the live object equals the object in Git again."""
    name, key = f"{prefix}: {edit.name}", key_of(edit.manifest)
    runner.progress(name)
    started = runner.watch.now
    try:
        is_healed = start_manual_edit(runner.client, edit)
    except ApiError as error:
        return EditResult(name, edit.change, str(key), 0.0, HEAL_SECONDS, note=f"refused: {error.message}")
    taken = runner.watch.until(is_healed, HEAL_SECONDS)
    note = "healed" if taken is not None else ""
    return EditResult(name, edit.change, str(key), taken, HEAL_SECONDS, runner.waits(started), note)


def start_manual_edit(client: Client, edit: ManualEdit) -> Callable[[], bool]:
    """Edits the live object. The returned function returns whether the live object equals the object in Git again.

    Raises:
        ApiError: if the server or a policy refuses the edit.
    """
    key = key_of(edit.manifest)
    before = _resource_version(client, key)
    edit.apply(client)
    return lambda: _resource_version(client, key) not in ("", before) and is_applied(client, edit.manifest)


def _resource_version(client: Client, key: ObjectKey) -> str:
    """Returns the resourceVersion of an object, or an empty string if the object does not exist."""
    stored = client.find(*key)
    return "" if stored is None else str(stored["metadata"]["resourceVersion"])


def _first(synced: list[Manifest], kind: str) -> Manifest | None:
    return next((manifest for manifest in synced if manifest.kind == kind), None)


def _limit(pool: Manifest) -> ManualEdit:
    old = pool.body["spec"]["limits"]["nodes"]
    new = str(int(old) + 7)
    changes = {"spec": {"limits": {"nodes": new}}}
    return ManualEdit("the node limit of a NodePool", f"limits.nodes {old} -> {new}", pool, changes)


def _quota(queue: Manifest) -> ManualEdit:
    groups = deepcopy(queue.body["spec"]["resourceGroups"])
    row = groups[0]["flavors"][0]["resources"][0]
    old = row["nominalQuota"]
    row["nominalQuota"] = new = str(int(parse_quantity(str(old))) + 1)
    change = f"nominalQuota of {row['name']} {old} -> {new}"
    return ManualEdit("the nominal quota of a ClusterQueue", change, queue, {"spec": {"resourceGroups": groups}})


def _label(namespace: Manifest) -> ManualEdit:
    old = namespace.labels[LABEL]
    changes = {"metadata": {"labels": {LABEL: "privileged"}}}
    return ManualEdit("the Pod Security label of a Namespace", f"{LABEL} {old} -> privileged", namespace, changes)
