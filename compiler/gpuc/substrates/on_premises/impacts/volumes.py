"""Impacts of a change on the volumes of namespaces."""

from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import is_left


@impact("IMP119", Level.RESTRICTS)
def volume_leaves(change: Change) -> Impacts:
    """A namespace loses a volume."""
    for pair in change.pairs("", "PersistentVolume") if not change.is_removed else ():
        namespace, claim = (dig(pair.manifest.body, "spec", "claimRef", key) for key in ("namespace", "name"))
        if pair.is_removed and namespace and namespace in change.after.objects.namespaces:
            stays = "the files stay on the share"
            details: tuple[str, ...] = ()
            if is_left(change, pair.manifest):
                message = f"claim {claim} leaves the spec, and pods can use it until you delete it; {stays}"
                commands = (
                    f"kubectl delete persistentvolumeclaim --namespace {namespace} {claim}",
                    f"kubectl delete persistentvolume {pair.name}",
                )
                details = (f"after the sync, when no pod uses it: {'; '.join(commands)}",)
            else:
                message = f"claim {claim} is deleted when no pod uses it, and new pods wait; {stays}"
            yield Raised(f"namespace {namespace}", message, pair.manifest, (), details)


@impact("IMP128", Level.NONE)
def volume_joins(change: Change) -> Impacts:
    """A namespace gets a volume."""
    for pair in change.pairs("", "PersistentVolume") if not change.is_new else ():
        namespace, claim = (dig(pair.manifest.body, "spec", "claimRef", key) for key in ("namespace", "name"))
        if pair.before is None and namespace:
            path = dig(pair.manifest.body, "spec", "nfs", "path")
            folder = f"folder {path}" if path else "the folder"
            details = (f"before the merge, {folder} of the share must exist, with the ids of the tenant",)
            yield Raised(f"namespace {namespace}", f"pods can mount claim {claim}", pair.manifest, (), details)
