from collections.abc import Iterator

from gpuc.cluster.application import sync_options
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.plan.applications import cluster_subject
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import kinds_text

_OF_POOLS = ("NodePool", "NodeOverlay")
"""Kinds that lose the protection when their pool is marked as leaving, which impacts on node pools describe."""
_OPTIONS = ("metadata", "annotations", "argocd.argoproj.io/sync-options")
_PRUNE = ("spec", "syncPolicy", "automated", "prune")
_SETTING = ("spec", "delivery", "prune")
"""The setting of the spec that changes the protection and the Applications."""
_Row = tuple[str, tuple[str, ...], Manifest, Path]


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
    has_setting = _SETTING in change.changed_paths(*_SETTING)
    for message, details, manifest, path in (*_protections(change), *_applications(change)):
        raised = Raised(cluster_subject(change), f"from now on, Argo CD {message}", manifest, path, details)
        yield raised._replace(manifest=None, path=_SETTING) if has_setting else raised


def _protections(change: Change) -> Iterator[_Row]:
    """Yields the message, the details, an object and its path, for the objects that lose and get the protection."""
    kept = (pair for pair in change.all_pairs if pair.before and pair.after and pair.manifest.api)
    found = grouped((pair for pair in kept if pair.manifest.kind not in _OF_POOLS), _is_protected)
    texts = {
        "deletes objects of removed elements at the next sync, with their nodes, workloads and data": (True, False),
        "leaves objects of removed elements in the cluster": (False, True),
    }
    for text, states in texts.items():
        if manifests := [pair.manifest for pair in found.get(states, ())]:
            details = (
                f"objects whose sync option Prune=false changes: {kinds_text(manifests)}",
                "objects that this change removes keep the option that they have in the cluster",
            )
            yield text, details, manifests[0], _OPTIONS


def _applications(change: Change) -> Iterator[_Row]:
    """Yields the same for the Applications that start and stop to prune."""
    before = {found.name: found.prunes for found in change.before.applications}
    changed = [found for found in change.after.applications if before.get(found.name, found.prunes) != found.prunes]
    texts = {
        True: (
            "also deletes objects that are removed from Git, except those with Prune=false",
            "objects that were removed from Git earlier are deleted too, at the next sync",
        ),
        False: (
            "deletes no objects that are removed from Git: revoked rights and removed network policies stay in force",
            "delete them by hand: the plan of a removal names the objects that stay",
        ),
    }
    for prunes, (text, sentence) in texts.items():
        if found := [application for application in changed if application.prunes is prunes]:
            names = ", ".join(application.name for application in found)
            yield text, (f"Applications: {names}", sentence), found[0].manifest, _PRUNE


def _is_protected(pair: Pair) -> tuple[bool, bool]:
    before, after = ("Prune=false" in sync_options(state) for state in (pair.before, pair.after) if state)
    return before, after
