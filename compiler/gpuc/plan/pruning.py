"""What Argo CD does with an object that Git does not contain any more, or that moves to another Application."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuc.cluster.application import sync_options
from gpuc.cluster.project import project_of
from gpuc.manifest.manifest import Kind, Manifest
from gpuc.objects.object_set import group
from gpuc.parts.workload_kinds import workload_kind
from gpuc.plan.change import Change
from gpuc.plan.state import State


def is_definition(manifest: Manifest) -> bool:
    """Returns whether an object is a CustomResourceDefinition.

    Argo CD sets no tracking annotation on a CustomResourceDefinition, so no Application owns it. There are two
    exceptions: Argo CD tracks objects by label, which gpuc does not configure; or the manifest has a namespace, which
    is an error of gpuc (MAN006).

    Source: argo-cd v3.5.1 reposerver/repository/repository.go (GenerateManifests), controller/state.go
    (NormalizeTargetObjects), gitops-engine/pkg/cache/cluster.go (GetManagedLiveObjs)
    """
    return (group(manifest), manifest.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def is_left(change: Change, manifest: Manifest) -> bool:
    """Returns whether Argo CD leaves an object in the cluster that is removed from Git."""
    return bool(reason_to_leave(change, manifest))


def reason_to_leave(change: Change, manifest: Manifest) -> str:
    """Returns why Argo CD leaves an object that is removed from Git; an empty string if Argo CD deletes the object.

    Without Applications, for example in a folder of manifests, only the annotations of the object decide.

    Source: argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources; docs/user-guide/app_deletion.md
    """
    if change.is_removed:
        return "the cluster is removed, and Argo CD syncs nothing any more"
    if "Prune=false" in sync_options(manifest):
        return "it has the sync option Prune=false"
    if is_definition(manifest):
        return "Argo CD does not track CustomResourceDefinitions"
    found = change.before.application_of(manifest)
    if found is None:
        return ""
    after = change.after.application(found.name)
    if after is None:
        return "its Application is removed too, and the removal of an Application deletes no objects"
    return "" if after.prunes else "its Application prunes nothing"


def with_left(change: Change, kinds: Iterable[tuple[str, str]]) -> State:
    """Returns the state after the change, plus the removed objects of some kinds that Argo CD leaves in the cluster.

    Args:
        kinds: the API group and the kind of the objects.
    """
    state = change.after
    removed = [pair.manifest for kind in kinds for pair in change.pairs(*kind) if pair.is_removed]
    left = [manifest for manifest in removed if is_left(change, manifest)]
    return replace(state, objects=state.objects.with_objects(left)) if left else state


Fate = Literal["left", "pruned", "confirmed"]
_OWN = ("NodePool", "EC2NodeClass", "NodeOverlay", "ClusterQueue", "LocalQueue", "ResourceFlavor", "Cohort", "Topology",
        "Namespace", "Application", "AppProject")  # fmt: skip
"""Kinds whose removal other impacts describe."""
NOT_PERMITTED = (
    "the AppProject does not permit the kind or the namespace any more; Argo CD deletes them only if it syncs the "
    "Application before the AppProject"
)
_NAMED = 3
_KINDS = 6
CLAIM: Kind = ("", "PersistentVolumeClaim")


class RemovedObject(Struct, frozen=True):
    """An object that the change removes from Git, and its fate: Argo CD leaves or deletes the object."""

    manifest: Manifest
    application: str
    """The Application that applied the object; empty if there is none."""
    fate: Fate
    """left: the object stays. pruned: Argo CD deletes it. confirmed: Argo CD deletes it after a confirmation."""
    reason: str
    """Why Argo CD leaves the object; empty if Argo CD deletes it."""

    is_certain: bool = True
    """Whether the fate does not depend on the order in which Argo CD syncs the AppProject and the Application."""

    @property
    def has_data(self) -> bool:
        """Whether data is lost if Argo CD deletes the object."""
        kind = group(self.manifest), self.manifest.kind
        return kind == CLAIM or workload_kind(*kind).traits.keeps_data


def removed_objects(change: Change, of_fate: Fate | None = None) -> Iterator[RemovedObject]:
    """Yields the removed objects that no other impact describes. Objects that no Application applied are left out.

    Args:
        of_fate: only objects that are "left", "pruned" or "confirmed" (deleted after a confirmation); None for all.
    """
    if change.is_removed:
        return
    for pair in change.all_pairs:
        manifest = pair.before
        if not pair.is_removed or manifest is None or manifest.kind in _OWN or not manifest.api:
            continue
        found = change.before.application_of(manifest)
        if found is None:
            continue
        reason = reason_to_leave(change, manifest)
        after = change.after.application(found.name)
        project = project_of(change.after.objects, after) if after else None
        is_certain = bool(reason) or after is None or project is None or project.permits(after, manifest)
        if not is_certain:
            reason = NOT_PERMITTED
        fate: Fate = "left" if reason else "confirmed" if "Prune=confirm" in sync_options(manifest) else "pruned"
        if of_fate in (None, fate):
            yield RemovedObject(manifest, found.name, fate, reason, is_certain)


def kinds_text(manifests: Iterable[Manifest]) -> str:
    """Returns objects in words: up to three objects with their names, more objects as "3 ConfigMap, 1 Role"."""
    found = list(manifests)
    if len(found) <= _NAMED:
        return ", ".join(map(str, found))
    counts = Counter(manifest.kind for manifest in found)
    kinds = [f"{counts[kind]} {kind}" for kind in sorted(counts)]
    others = sum(counts[kind] for kind in sorted(counts)[_KINDS:])
    return ", ".join(kinds[:_KINDS]) + (f" and {others} objects of other kinds" if others else "")


class MovedObject(Struct, frozen=True):
    """An object that moves from one Application to another Application."""

    manifest: Manifest
    """The object after the change."""
    old: str
    """The name of the Application before the change."""
    new: str
    """The name of the Application after the change."""
    reason: str
    """Why the old Application does not prune the object; empty if it prunes the object."""


def moved_objects(change: Change) -> Iterator[MovedObject]:
    """Yields the objects that a different Application applies after the change than before.

    CustomResourceDefinitions are left out. They belong to no Application, so a move changes nothing in the cluster.
    """
    for pair in change.all_pairs:
        if pair.before is None or pair.after is None or not pair.manifest.api or is_definition(pair.manifest):
            continue
        old, new = change.before.application_of(pair.before), change.after.application_of(pair.after)
        if old is not None and new is not None and old.name != new.name:
            yield MovedObject(pair.after, old.name, new.name, reason_to_leave(change, pair.before))
