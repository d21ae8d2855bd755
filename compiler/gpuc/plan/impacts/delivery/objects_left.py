from collections import defaultdict

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.removed_objects import RemovedObject, kinds_text, removed_objects


@impact("IMP502", Level.NONE, source="argo-cd v3.5 docs/user-guide/sync-options.md; docs/user-guide/app_deletion.md")
def objects_left(change: Change) -> Impacts:
    """Objects are removed from Git, and Argo CD leaves them in the cluster.

    The objects work as before, and no file describes them. To remove them, delete them with kubectl after the sync.
    """
    groups: dict[tuple[str, str], list[RemovedObject]] = defaultdict(list)
    for one in removed_objects(change):
        if one.fate == "left":
            groups[one.application, one.reason].append(one)
    for (application, reason), found in groups.items():
        manifests = [one.manifest for one in found]
        pronoun = "an object stays" if len(found) == 1 else f"{len(found)} objects stay"
        message = f"{pronoun} in the cluster, because {reason}: {kinds_text(manifests)}"
        predicts = tuple(Prediction(f"object {manifest}", "left") for manifest in manifests)
        yield Raised(f"Application {application}", message, manifests[0], (), (), predicts)
