from gpuc.cluster.application import ARGO
from gpuc.objects.object_set import dig
from gpuc.plan.applications import cluster_subject
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_FIELDS = {"repoURL": "repository", "targetRevision": "revision", "path": "path"}


@impact(
    "IMP511",
    Level.DISRUPTS,
    source="argo-cd v3.5.1 docs/user-guide/tracking_strategies.md; docs/user-guide/auto_sync.md, Automatic Pruning "
    "with Allow-Empty, Automated Sync Semantics; util/app/path/path.go, ErrMessageAppPathDoesNotExist",
)
def source_changes(change: Change) -> Impacts:
    """The Applications read their objects from another repository, branch or path.

    If the new place lacks files, Argo CD prunes their objects. Check that it has the complete folder out/ first. If a
    path does not exist, the comparison fails, and if a folder has no objects, Argo CD does not sync automatically. In
    both cases the objects stay.
    """
    for pair in change.pairs(ARGO, "Application"):
        before, after = pair.values("spec", "source")
        if not pair.is_changed or pair.manifest.file.startswith("clusters/") or dig(after, "chart"):
            continue
        changed = [field for field in _FIELDS if dig(before, field) != dig(after, field)]
        if changed:
            parts = [
                f"{noun} {dig(after, field)} instead of {dig(before, field)}"
                for field, noun in _FIELDS.items()
                if field in changed
            ]
            message = f"Argo CD reads all objects from another place: {', '.join(parts)}"
            details = (
                f"before the merge: check that revision {dig(after, 'targetRevision')} of {dig(after, 'repoURL')} has "
                f"{_folder(str(dig(after, 'path')), change.after.name)}/, and that Argo CD may read it",
                "objects that the new place does not contain are pruned, unless they are protected",
            )
            yield Raised(cluster_subject(change), message, pair.after, ("spec", "source", changed[0]), details)
            return


def _folder(path: str, cluster: str) -> str:
    """Returns the folder of the cluster in the path of an Application; the path if it has no such folder."""
    start, found, _ = path.partition(f"/{cluster}/")
    return f"{start}/{cluster}" if cluster and found else path
