from gpuc.plan.applications import application_of, applications
from gpuc.plan.change import Change
from gpuc.plan.immutable import refused_fields
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact


@impact("IMP501", Level.DISRUPTS, source="kubernetes v1.35 pkg/apis/*/validation; see gpuc/plan/immutable.py")
def immutable_field(change: Change) -> Impacts:
    """A field changes that the API server does not allow to change, so the sync of an Application fails.

    Argo CD tries again and again. The other objects of the same sync wave are applied; later waves of the Application,
    and Applications of later waves, wait.
    """
    for pair in change.all_pairs:
        reasons = list(refused_fields(pair))
        if not reasons or pair.after is None:
            continue
        path, reason = reasons[0]
        found = application_of(change.after, pair.after)
        waiting = [one.name for one in applications(change.after) if found and one.wave > found.wave]
        name = f"the sync of Application {found.name}" if found else "the change"
        message = f"{name} fails: the API server refuses {pair.after}, because {reason}"
        details = ["two steps: remove the object in one commit, and add it in the next, or use another name"]
        details += [f"these Applications wait: {', '.join(waiting)}"] if waiting else []
        predicts = (Prediction(f"object {pair.after}", "refused"),)
        yield Raised(str(pair.after), message, pair.after, path, tuple(details), predicts)
