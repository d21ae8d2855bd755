"""What Argo CD does with an object that Git does not contain any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpuc.cluster.application import sync_options
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group
from gpuc.plan.change import Change
from gpuc.plan.state import State


def is_definition(manifest: Manifest) -> bool:
    """Returns whether an object is a CustomResourceDefinition.

    Argo CD sets no tracking annotation on a CustomResourceDefinition, so no Application owns it. This is different if
    Argo CD tracks objects by label, which gpuc does not configure, and if the manifest has a namespace, which is an
    error of gpuc (MAN006).

    Source: argo-cd v3.5.1 reposerver/repository/repository.go (GenerateManifests), controller/state.go
    (NormalizeTargetObjects), gitops-engine/pkg/cache/cluster.go (GetManagedLiveObjs)
    """
    return (group(manifest), manifest.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def is_left(change: Change, manifest: Manifest) -> bool:
    """Returns whether Argo CD leaves a removed object in the cluster, and does not delete it."""
    return bool(reason_to_leave(change, manifest))


def reason_to_leave(change: Change, manifest: Manifest) -> str:
    """Returns why Argo CD leaves a removed object in the cluster; an empty string if Argo CD deletes the object.

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
    """Returns the state after, with the removed objects of some kinds that Argo CD leaves in the cluster.

    Args:
        kinds: the API group and the kind of the objects.
    """
    state = change.after
    removed = [pair.manifest for kind in kinds for pair in change.pairs(*kind) if pair.is_removed]
    left = [manifest for manifest in removed if is_left(change, manifest)]
    return replace(state, objects=state.objects.with_objects(left)) if left else state
