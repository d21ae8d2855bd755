from collections import defaultdict

from gpuc.admission.policies import Policies
from gpuc.admission.request import Decision, Request
from gpuc.kubernetes.controllers import user
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact

_ARGO_CD = "argocd/argocd-application-controller"
"""The ServiceAccount that applies objects, in the manifests of Argo CD.

Source: argo-cd v3.5.1 manifests/install.yaml
"""


@impact(
    "IMP313",
    Level.DISRUPTS,
    source="gatekeeper v3.23.0 website/docs/violations.md; argo-cd v3.5.1 gitops-engine/pkg/sync/sync_context.go, Sync",
)
def change_refused(change: Change) -> Impacts:
    """A policy of the cluster refuses an object of the change, so the sync of an Application fails.

    The policies check the requests of Argo CD too. Argo CD tries again until the commit is corrected.
    """
    written = [pair for pair in change.all_pairs if pair.after and pair.fields and pair.after.namespace]
    if not written:
        return
    policies, found = Policies(change.after.objects), defaultdict[str, list[tuple[Pair, Decision]]](list)
    for pair in written:
        if pair.after and (decision := _denied(policies, pair.after)):
            refused_by = decision.manifest.kind if decision.manifest else decision.check
            found[refused_by].append((pair, decision))
    for refused in found.values():
        pair, decision = refused[0]
        application = change.after.application_of(pair.manifest)
        failing = f", and the sync of Application {application.name} fails" if application else ""
        others = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        message = f"{decision.check} refuses the change of {pair.manifest}{others}{failing}: {decision.message}"
        predicts = tuple(Prediction(f"object {other.manifest}", "refused") for other, _ in refused)
        subject = f"{pair.manifest.kind} {pair.name}"
        yield Raised(subject, message, pair.after, pair.fields[0].path, (), predicts)


def _denied(policies: Policies, manifest: Manifest) -> Decision | None:
    """Returns the first decision that refuses an object; None if no policy refuses it."""
    request = Request(manifest.document(), user(_ARGO_CD))
    return next((decision for decision in policies.decide(request) if decision.outcome == "denied"), None)
