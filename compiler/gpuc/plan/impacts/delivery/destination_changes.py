from typing import Any

from gpuc.diagnostics.words import counted
from gpuc.objects.object_set import dig
from gpuc.plan.applications import GROUP, cluster_name, cluster_subject
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.spec.platform import OWN_NAME, OWN_SERVER


@impact(
    "IMP526",
    Level.DISRUPTS,
    source="argo-cd v3.5.1 controller/state.go, CompareAppState: GetManagedLiveObjs of the destination cluster",
)
def destination_changes(change: Change) -> Impacts:
    """The Applications deploy to another cluster.

    Argo CD installs everything in the new cluster. It does not look at the old cluster any more: nodes, workloads and
    controllers there go on, and no file describes them.
    """
    found = []
    for pair in change.pairs(GROUP, "Application"):
        old, new = (_cluster(value) for value in pair.values("spec", "destination"))
        if pair.is_changed and old != new and not pair.manifest.file.startswith("clusters/"):
            found.append((pair, old, new))
    if found:
        pair, old, new = found[0]
        count = len(change.before.objects.manifests)
        noun = f"{counted(len(found), 'Application')} deploy{'s' if len(found) == 1 else ''}"
        message = (
            f"{noun} to {new} instead of {old}: Argo CD installs everything there, and "
            f"leaves the {count} objects of the state before in {old}"
        )
        details = (
            f"if {new} is another name of the same cluster, nothing changes in the cluster",
            f"if it is another cluster, first follow clusters/{cluster_name(change)}/README.md there",
        )
        after = pair.values("spec", "destination")[1]
        field = "server" if dig(after, "server") else "name"
        yield Raised(cluster_subject(change), message, pair.after, ("spec", "destination", field), details)


def _cluster(destination: Any) -> str:
    """Returns the name or the URL of the cluster. The cluster of Argo CD has one name for both."""
    found = dig(destination, "server") or dig(destination, "name") or ""
    return OWN_SERVER if found == OWN_NAME else str(found)
