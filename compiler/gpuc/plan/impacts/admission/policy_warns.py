from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.policy_changes import by_policy, policy_changes


@impact("IMP310", Level.NONE, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_warns(change: Change) -> Impacts:
    """The stage of a policy rises to warn, or a policy with this stage is new.

    Nothing is refused. Requests that violate the policy get a warning, which people see before the stage is deny.
    """
    stricter = (policy for policy in policy_changes(change) if policy.is_stricter and policy.after == "warn")
    for first, *_ in by_policy(stricter):
        yield first.raised(f"stage {first.stages}: violations get a warning")
