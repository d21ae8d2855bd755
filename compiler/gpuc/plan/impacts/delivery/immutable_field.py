from collections.abc import Iterator

from gpuc.cluster.application import ARGO, Application, wave_of
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig
from gpuc.plan.applications import changed_applications
from gpuc.plan.change import Change, Pair
from gpuc.plan.immutable import refused_fields
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import kinds_text


@impact(
    "IMP501",
    Level.DISRUPTS,
    source="kubernetes v1.35.4 pkg/apis/batch/validation/validation.go, ValidateJobSpecUpdate, and others; "
    "argo-cd v3.5.1 gitops-engine/pkg/sync/sync_context.go, Sync",
)
def immutable_field(change: Change) -> Impacts:
    """A field changes that the API server does not allow to change, so the sync of an Application fails.

    Argo CD tries again until the commit is corrected. Objects of the same sync wave are applied, objects of later sync
    waves are not. The Application becomes Degraded, so the root Application does not create or change the Applications
    of later waves.
    """
    for pair in change.all_pairs:
        reasons = list(refused_fields(pair))
        if not reasons or pair.after is None:
            continue
        path, reason = reasons[0]
        found = change.after.application_of(pair.after)
        failing = f", and the sync of Application {found.name} fails" if found else ""
        message = f"the API server refuses the change{failing}: {reason}"
        details = (_steps(pair), *(_blocked(change, pair, found) if found else ()))
        predicts = (Prediction(f"object {pair.after}", "refused"),)
        yield Raised(_subject(pair), message, pair.after, path, details, predicts)


def _subject(pair: Pair) -> str:
    pool = dig(pair.manifest.body, "spec", "template", "metadata", "labels", POOL_LABEL)
    return f"node pool {pool}" if pool else str(pair.manifest)


def _steps(pair: Pair) -> str:
    """Returns the two commits that make the change."""
    steps = "first remove the object, then add it again; or one change that adds an object with another name"
    if pair.manifest.kind == "NodePool":
        steps = "first add a node pool with another name, and mark the old one as leaving; then remove the old one"
    return f"two changes instead: {steps}"


def _blocked(change: Change, refused: Pair, found: Application) -> Iterator[str]:
    """Yields sentences about the changes that Argo CD does not make while the sync fails."""
    later = [
        pair.after
        for pair in change.all_pairs
        if pair.after
        and pair.fields
        and wave_of(pair.after) > wave_of(refused.manifest)
        and change.after.application_of(pair.after) == found
    ]
    if later:
        yield f"objects of the Application that are not applied either: {kinds_text(later)}"
    changed = [application for application in changed_applications(change) if application.wave > found.wave]
    pairs = ((other.name, change.pair(ARGO, "Application", other.name, other.manifest.namespace)) for other in changed)
    names = [name for name, pair in pairs if pair and pair.fields]
    if names:
        yield f"Applications that the root Application does not create or change until then: {', '.join(names)}"
