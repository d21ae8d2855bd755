from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.policy_changes import by_policy, policy_changes


@impact("IMP302", Level.NONE, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_weaker(change: Change) -> Impacts:
    """The stage of a policy falls, or a policy is removed.

    Nothing that runs is disturbed. Tenants can create objects that the policy refused, or get no warning any more.
    """
    for first, *_ in by_policy(policy for policy in policy_changes(change) if policy.is_weaker):
        lost = "violations are allowed" if first.before == "deny" else "violations get no warning"
        yield first.raised(f"stage {first.stages}: {lost}")
