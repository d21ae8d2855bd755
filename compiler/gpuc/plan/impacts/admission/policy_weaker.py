from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import by_policy, policy_changes, stage_text


@impact("IMP302", Level.NONE, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_weaker(change: Change) -> Impacts:
    """The stage of a policy falls, or a policy is removed.

    Nothing that runs is disturbed. Tenants can create objects that the policy refused, or get no warning any more.
    """
    for name, found in by_policy(one for one in policy_changes(change) if one.is_weaker):
        first = found[0]
        message = f"stage {stage_text(first.after)} instead of {stage_text(first.before)}"
        lost = "violations are allowed" if first.before == "deny" else "violations get no warning"
        yield Raised(f"policy {name}", f"{message}: {lost}", first.pair.manifest, first.path)
