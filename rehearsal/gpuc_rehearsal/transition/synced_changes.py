"""Applies a change as Argo CD does: first the changed objects, by sync wave, then it prunes removed objects."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import NamedTuple

from gpuc.cluster.application import ARGO, Source, applications, is_application, sync_options, wave_of
from gpuc.kubernetes.argocd import OPTIONS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc_rehearsal.apply import ARGO_CD, namespaces, steps
from gpuc_rehearsal.client import ApiError, Client, Object, WaitError
from gpuc_rehearsal.health import wait_healthy
from gpuc_rehearsal.substitute import simulated_document
from gpuc_rehearsal.transition.result import ObjectOutcome

NO_PRUNE = "Prune=false"
"""The sync option of an object that Argo CD keeps when it is removed from Git."""
HEALTH_SECONDS = 15
"""Seconds to wait until the policies of a wave are enforced."""
_POLICY_GROUPS = ("templates.gatekeeper.sh", "constraints.gatekeeper.sh", "admissionregistration.k8s.io")
"""API groups whose objects must be healthy.

Queues and node pools are observed later, also inactive queues and pools.
"""


class ObjectKey(NamedTuple):
    """What identifies an object: the arguments of Client.find and Client.delete."""

    api: str
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class ObjectDiff(NamedTuple):
    """The objects that a change writes or removes. Applications and AppProjects are left out."""

    written: list[Manifest]
    """New and changed objects."""
    removed: list[Manifest]

    @property
    def keys(self) -> list[ObjectKey]:
        return [key_of(manifest) for manifest in (*self.written, *self.removed)]


def key_of(manifest: Manifest) -> ObjectKey:
    """Returns what identifies an object: apiVersion, kind, name and namespace."""
    return ObjectKey(manifest.api, manifest.kind, manifest.name, manifest.namespace)


def is_of_argo_cd(api: str) -> bool:
    """Returns whether an apiVersion is of Argo CD, whose objects are left out: they can be in another cluster."""
    return api.startswith(f"{ARGO}/")


def diff_objects(before: Iterable[Manifest], after: Iterable[Manifest]) -> ObjectDiff:
    """Returns the objects that differ between two compiled specs, or that only one of them has."""
    old, new = (
        {key_of(manifest): manifest for manifest in state if not is_of_argo_cd(manifest.api)}
        for state in (before, after)
    )
    written = [row for key, row in new.items() if key not in old or old[key].document() != row.document()]
    return ObjectDiff(written, [manifest for key, manifest in old.items() if key not in new])


def apply_change(client: Client, before: Sequence[Manifest], after: Sequence[Manifest]) -> list[ObjectOutcome]:
    """Applies the difference between two states as Argo CD does. Returns what happened to each object that differs."""
    change = diff_objects(before, after)
    written = {key_of(manifest) for manifest in change.written}
    ignored = ignored_fields(after)
    for document in namespaces(after):
        client.apply(document, manager=ARGO_CD)
    outcomes: list[ObjectOutcome] = []
    for step in steps(after):
        outcomes += _apply_step(client, [row for row in step.manifests if key_of(row) in written], ignored)
    return [*outcomes, *_prune(client, change, removed_sources(before, after))]


def _apply_step(
    client: Client, changed: Sequence[Manifest], ignored: dict[tuple[str, str], tuple[str, ...]]
) -> Iterator[ObjectOutcome]:
    accepted = []
    for manifest in changed:
        try:
            client.apply(with_live_fields(client, manifest, ignored))
            accepted.append(manifest)
        except ApiError as error:
            yield _outcome(manifest, "refused", str(error))
    policies = [manifest for manifest in accepted if manifest.api.rpartition("/")[0] in _POLICY_GROUPS]
    unhealthy: dict[int, str] = {}
    with suppress(ApiError, WaitError):
        unhealthy = {id(row.manifest): row.message for row in wait_healthy(client, policies, HEALTH_SECONDS)}
    for manifest in accepted:
        message = unhealthy.get(id(manifest))
        yield _outcome(manifest, "applied", f"not healthy: {message}" if message is not None else "")


def ignored_fields(synced: Iterable[Manifest]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Returns the fields that Argo CD ignores in existing objects, as JSON pointers by (API group, kind).

    They are in `ignoreDifferences` of the Applications. Because of the sync option RespectIgnoreDifferences=true, Argo
    CD applies these fields only to new objects.

    Source: Argo CD documentation, sync options, Respect ignore difference configs
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for manifest in synced:
        for entry in manifest.body.get("spec", {}).get("ignoreDifferences", ()) if is_application(manifest) else ():
            key = entry.get("group", ""), entry["kind"]
            found[key] = (*found.get(key, ()), *entry.get("jsonPointers", ()))
    return found


def with_live_fields(client: Client, manifest: Manifest, ignored: dict[tuple[str, str], tuple[str, ...]]) -> Object:
    """Returns an object to apply, in which fields that Argo CD ignores have the values of the live object."""
    document = simulated_document(manifest)
    pointers = ignored.get((manifest.api.rpartition("/")[0], manifest.kind), ())
    live = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace) if pointers else None
    if live is None:
        return document
    document = deepcopy(document)
    for pointer in pointers:
        path = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        value = dig(live, *path)
        if value is not None and dig(document, *path) is not None:
            dig(document, *path[:-1])[path[-1]] = value
    return document


def _prune(client: Client, change: ObjectDiff, removed: Sequence[Source]) -> Iterator[ObjectOutcome]:
    """Deletes the removed objects that Argo CD prunes, the last sync wave first, and yields their outcomes.

    removed: the sources of removed Applications.
    """
    for manifest in sorted(change.removed, key=wave_of, reverse=True):
        key = key_of(manifest)
        if any(source.syncs(manifest.file) for source in removed):
            message = "its Application is removed, and Argo CD keeps the objects of a removed Application"
            yield _outcome(manifest, "left", message)
        elif NO_PRUNE in sync_options(manifest):
            yield _outcome(manifest, "left", f"the annotation {OPTIONS} has {NO_PRUNE}")
        else:
            client.delete(*key, now=False)
            message = "the deletion waits for a finalizer" if client.find(*key) else ""
            yield _outcome(manifest, "pruned", message)


def removed_sources(before: Sequence[Manifest], after: Sequence[Manifest]) -> list[Source]:
    """Returns the sources of removed Applications. Argo CD does not delete the objects from these sources.

    Source: argo-cd v3.5.1 docs/user-guide/app_deletion.md, About The Deletion Finalizer
    """
    kept = {application.name for application in applications(after)}
    removed = (application for application in applications(before) if application.name not in kept)
    return [source for application in removed for source in application.sources]


def _outcome(row: Manifest, outcome: str, message: str) -> ObjectOutcome:
    return ObjectOutcome(row.kind, row.namespace, row.name, outcome, message)
