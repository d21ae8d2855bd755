from gpuc.plan.applications import cluster_subject
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import sync_options
from gpuc.plan.removed_objects import kinds_text

_OF_POOLS = ("NodePool", "NodeOverlay")
"""Kinds that lose the protection when their pool is marked as leaving, which impacts on node pools describe."""


@impact("IMP523", Level.NONE, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def deletion_protection_changes(change: Change) -> Impacts:
    """Objects get or lose the protection against deletion by Argo CD.

    Argo CD reads the sync option Prune=false from the object in the cluster. Without the option, a later removal of the
    element from the spec deletes its object, with the nodes, workloads and data that it contains.
    """
    lost, gained = [], []
    for pair in change.all_pairs:
        if pair.before is None or pair.after is None or not pair.manifest.api or pair.manifest.kind in _OF_POOLS:
            continue
        before, after = _is_protected(pair)
        if before and not after:
            lost.append(pair.after)
        elif after and not before:
            gained.append(pair.after)
    path = ("metadata", "annotations", "argocd.argoproj.io/sync-options")
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
            message = f"from now on, Argo CD {text}"
            spec_path = ("spec", "delivery", "prune")
            has_setting = any(one.path == spec_path for one in change.spec_changes)
            manifest, place = (None, spec_path) if has_setting else (manifests[0], path)
            yield Raised(cluster_subject(change), message, manifest, place, details)


def _is_protected(pair: Pair) -> tuple[bool, bool]:
    assert pair.before is not None and pair.after is not None
    return "Prune=false" in sync_options(pair.before), "Prune=false" in sync_options(pair.after)
