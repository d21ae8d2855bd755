from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import policy_changes


@impact("IMP303", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/howto.md, constraints: match and parameters")
def policy_settings_change(change: Change) -> Impacts:
    """The settings of a policy change, or the objects that the policy checks.

    The policy can refuse objects that it allowed, and allow objects that it refused. Running pods stay. The settings
    of many policies follow from node pools, queues and tenants.
    """
    for one in policy_changes(change):
        if one.before == one.after and one.after != "dryrun" and (one.parameters or one.scope):
            parts = [f"settings {', '.join(one.parameters)}"] if one.parameters else []
            parts += ["the checked objects"] if one.scope else []
            effect = "the API server refuses violations" if one.after == "deny" else "violations get a warning"
            message = f"{' and '.join(parts)} change; stage {one.after}: {effect}"
            yield Raised(f"policy {one.name}", message, one.pair.after, one.path)
