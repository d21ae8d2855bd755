from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import by_policy, policy_changes, policy_data_changes


@impact("IMP303", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/howto.md, constraints: match and parameters")
def policy_settings_change(change: Change) -> Impacts:
    """The settings of a policy change, or the objects that the policy checks.

    The policy can refuse objects that it allowed, and allow objects that it refused. Running pods stay. The settings
    of many policies follow from node pools, queues and tenants.
    """
    changed = (one for one in policy_changes(change) if one.before == one.after and one.after != "dryrun")
    for name, found in by_policy(one for one in changed if one.parameters or one.scope):
        first = found[0]
        names = dict.fromkeys(name for one in found for name in one.parameters)
        parts = [f"settings {', '.join(names)}"] if names else []
        parts += ["the checked objects"] if any(one.scope for one in found) else []
        effect = "the API server refuses violations" if first.after == "deny" else "violations get a warning"
        message = f"{' and '.join(parts)} change; stage {first.after}: {effect}"
        yield Raised(f"policy {name}", message, first.pair.after, first.path)
    for pair in policy_data_changes(change):
        path = next(field.path for field in pair.fields if field.is_below("spec"))
        yield Raised(f"policy {pair.name}", "its limits or the checked namespaces change", pair.after, path)
