from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import perhaps_refused, policy_data_changes
from gpuc.plan.policy_settings import policy_settings


@impact("IMP303", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/howto.md, constraints: match and parameters")
def policy_settings_change(change: Change) -> Impacts:
    """A policy with the stage deny refuses more, because its settings or the objects that it checks change.

    Running pods stay. The settings of many policies follow from node pools, queues and tenants.
    """
    for policy in policy_settings(change, refuses_more=True):
        if policy.stage == "deny":
            predicts = perhaps_refused(change, policy.tenants)
            yield policy.raised("; the API server refuses violations")._replace(predicts=predicts)
    for pair in policy_data_changes(change):
        path = next(field.path for field in pair.fields if field.is_below("spec"))
        yield Raised(f"policy {pair.name}", "its limits or the checked namespaces change", pair.after, path)
