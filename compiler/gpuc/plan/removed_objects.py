"""The objects that a change removes from Git, and what Argo CD does with them in the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from gpuc.cluster.application import sync_options
from gpuc.cluster.project import project_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group
from gpuc.plan.change import Change
from gpuc.plan.pruning import reason_to_leave

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
DATA = (("", "PersistentVolumeClaim"), ("apps", "StatefulSet"))
"""Kinds whose deletion deletes data."""


@dataclass(frozen=True)
class RemovedObject:
    """An object that only the state before has."""

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
        """Whether a deletion of the object deletes data."""
        return (group(self.manifest), self.manifest.kind) in DATA


def removed_objects(change: Change) -> Iterator[RemovedObject]:
    """Yields the removed objects that no other impact describes. Without Applications, nothing prunes objects."""
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
        yield RemovedObject(manifest, found.name, fate, reason, is_certain)


def kinds_text(manifests: Iterable[Manifest]) -> str:
    """Returns the kinds of objects in words, with the names of up to three objects: "2 ConfigMap, 1 Role"."""
    found = list(manifests)
    if len(found) <= _NAMED:
        return ", ".join(map(str, found))
    counts = Counter(one.kind for one in found)
    kinds = [f"{counts[kind]} {kind}" for kind in sorted(counts)]
    others = sum(counts[kind] for kind in sorted(counts)[_KINDS:])
    return ", ".join(kinds[:_KINDS]) + (f" and {others} objects of other kinds" if others else "")
