from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import policy_changes, stage_text
from gpuc.plan.refused_workloads import refused_templates, refused_workloads

_EFFECTS = {"warn": "requests that violate the policy get a warning", "deny": "the API server refuses violations"}


@impact("IMP301", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_stricter(change: Change) -> Impacts:
    """The stage of a policy rises to warn or deny, or a policy is new.

    Running pods stay. The policy checks each new pod, also the pods that a controller creates again after an eviction
    or the loss of a node.
    """
    for one in policy_changes(change):
        if not one.is_stricter:
            continue
        message = f"stage {stage_text(one.after)} instead of {stage_text(one.before)}: {_EFFECTS[one.after]}"
        found = (*refused_workloads(change), *refused_templates(change)) if one.after == "deny" else ()
        refused = [f"it would refuse {other.name}" for other in found if other.step.manifest is one.pair.after]
        yield Raised(f"policy {one.name}", message, one.pair.after, one.path, tuple(dict.fromkeys(refused)))
