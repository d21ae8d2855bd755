from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.policy_settings import policy_settings


@impact("IMP309", Level.NONE, source="gatekeeper v3.23.0 website/docs/howto.md, constraints: match and parameters")
def policy_settings_relax(change: Change) -> Impacts:
    """A policy allows more, or warns about more, because its settings change.

    Nothing that runs is disturbed. The settings of many policies follow from node pools, queues and tenants.
    """
    for policy in policy_settings(change, refuses_more=False):
        yield policy.raised()
    for policy in policy_settings(change, refuses_more=True):
        if policy.stage == "warn":
            yield policy.raised("; violations get a warning")
