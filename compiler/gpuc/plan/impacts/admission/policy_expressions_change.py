from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import template_changes


@impact("IMP304", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/validating-admission-policy.md")
def policy_expressions_change(change: Change) -> Impacts:
    """The expressions of a policy change.

    A policy of the fleet was edited, or a new version of gpuc has other expressions. The policy can refuse objects
    that it allowed.
    """
    for pair in template_changes(change):
        path = next(field.path for field in pair.fields if field.is_below("spec"))
        yield Raised(f"policy {pair.name}", "its expressions change", pair.after, path)
