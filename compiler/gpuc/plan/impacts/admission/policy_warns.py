from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import by_policy, policy_changes, stage_text


@impact("IMP310", Level.NONE, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_warns(change: Change) -> Impacts:
    """The stage of a policy rises to warn, or a policy with this stage is new.

    Nothing is refused. Requests that violate the policy get a warning, which people see before the stage is deny.
    """
    for name, found in by_policy(one for one in policy_changes(change) if one.is_stricter and one.after == "warn"):
        first = found[0]
        message = f"stage warn instead of {stage_text(first.before)}: violations get a warning"
        yield Raised(f"policy {name}", message, first.pair.after, first.path)
