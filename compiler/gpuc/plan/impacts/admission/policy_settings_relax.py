from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_settings import policy_settings


@impact("IMP309", Level.NONE, source="gatekeeper v3.23.0 website/docs/howto.md, constraints: match and parameters")
def policy_settings_relax(change: Change) -> Impacts:
    """A policy allows more, or warns about more, because its settings change.

    Nothing that runs is disturbed. The settings of many policies follow from node pools, queues and tenants.
    """
    for one in policy_settings(change, refuses_more=False):
        yield Raised(f"policy {one.name}", one.text, one.manifest, one.path)
    for one in policy_settings(change, refuses_more=True):
        if one.stage == "warn":
            yield Raised(f"policy {one.name}", f"{one.text}; violations get a warning", one.manifest, one.path)
