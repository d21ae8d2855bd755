from collections.abc import Iterator

from gpuc.cluster.application import sync_options
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.plan.applications import cluster_subject
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.removed_objects import kinds_text

_OF_POOLS = ("NodePool", "NodeOverlay")
"""Kinds that lose the protection when their pool is marked as leaving, which impacts on node pools describe."""
_OPTIONS = ("metadata", "annotations", "argocd.argoproj.io/sync-options")
_PRUNE = ("spec", "syncPolicy", "automated", "prune")
_SETTING = ("spec", "delivery", "prune")
"""The setting of the spec that changes the protection and the Applications."""


@impact(
    "IMP523",
    Level.NONE,
    source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources; docs/user-guide/auto_sync.md, "
    "Automatic Pruning",
)
def deletion_protection_changes(change: Change) -> Impacts:
    """Objects get or lose the protection against deletion by Argo CD, or Applications start or stop to prune.

    Argo CD reads the sync option Prune=false from the object in the cluster. Without the option, a later removal of the
    element from the spec deletes its object, with the nodes, workloads and data that it contains. An Application that
    does not prune leaves all objects that Git does not contain any more: a RoleBinding goes on to give its rights, and
    a NetworkPolicy to allow its connections.
    """
    has_setting = any(one.path == _SETTING for one in change.spec_changes)
    for message, details, manifest, path in (*_protections(change), *_applications(change)):
        text = f"from now on, Argo CD {message}"
        if has_setting:
            yield Raised(cluster_subject(change), text, path=_SETTING, details=details)
        else:
            yield Raised(cluster_subject(change), text, manifest, path, details)


def _protections(change: Change) -> Iterator[tuple[str, tuple[str, ...], Manifest, Path]]:
    """Yields the message, the details, an object and its path, for the objects that lose and get the protection."""
    lost, gained = [], []
    for pair in change.all_pairs:
        if pair.before is None or pair.after is None or not pair.manifest.api or pair.manifest.kind in _OF_POOLS:
            continue
        before, after = _is_protected(pair)
        if before and not after:
            lost.append(pair.after)
        elif after and not before:
            gained.append(pair.after)
    texts = {
        "deletes objects of removed elements at the next sync, with their nodes, workloads and data": lost,
        "leaves objects of removed elements in the cluster": gained,
    }
    for text, manifests in texts.items():
        if manifests:
            details = (
                f"objects whose sync option Prune=false changes: {kinds_text(manifests)}",
                "objects that this change removes keep the option that they have in the cluster",
            )
            yield text, details, manifests[0], _OPTIONS


def _applications(change: Change) -> Iterator[tuple[str, tuple[str, ...], Manifest, Path]]:
    """Yields the same for the Applications that start and stop to prune."""
    before = {one.name: one.prunes for one in change.before.applications}
    changed = [one for one in change.after.applications if before.get(one.name, one.prunes) != one.prunes]
    texts = {
        "also deletes objects that are removed from Git, except those with Prune=false": (
            [one for one in changed if one.prunes],
            "objects that were removed from Git earlier are deleted too, at the next sync",
        ),
        "deletes no objects that are removed from Git: revoked rights and removed network policies stay in force": (
            [one for one in changed if not one.prunes],
            "delete them by hand: the plan of a removal names the objects that stay",
        ),
    }
    for text, (found, sentence) in texts.items():
        if found:
            names = ", ".join(one.name for one in found)
            yield text, (f"Applications: {names}", sentence), found[0].manifest, _PRUNE


def _is_protected(pair: Pair) -> tuple[bool, bool]:
    assert pair.before is not None and pair.after is not None
    return "Prune=false" in sync_options(pair.before), "Prune=false" in sync_options(pair.after)
