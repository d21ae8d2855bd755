from collections.abc import Iterator

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.policy_changes import PolicyChange, by_policy, perhaps_refused, policy_changes, stage_text
from gpuc.plan.refused_workloads import refused_templates, refused_workloads


@impact("IMP301", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_stricter(change: Change) -> Impacts:
    """The stage of a policy rises to deny, or a policy with this stage is new.

    Running pods stay. The policy checks each new pod, also the pods that a controller creates again after an eviction
    or the loss of a node.
    """
    for name, found in by_policy(one for one in policy_changes(change) if one.is_stricter and one.after == "deny"):
        first = found[0]
        message = f"stage deny instead of {stage_text(first.before)}: the API server refuses violations"
        predicts = perhaps_refused(change, ())
        details = tuple(_refused(change, found))
        yield Raised(f"policy {name}", message, first.pair.after, first.path, details, predicts)


def _refused(change: Change, found: list[PolicyChange]) -> Iterator[str]:
    """Yields how many workloads and templates the policy would refuse. Other impacts name them."""
    deciding = [one.pair.after for one in found]
    for one_of, noun, refused, other in (
        ("object of --workloads", "objects of --workloads", refused_workloads(change), "IMP305"),
        ("workload template", "workload templates", refused_templates(change), "IMP306"),
    ):
        if count := sum(one.step.manifest in deciding for one in refused):
            yield f"it would refuse {count} {one_of if count == 1 else noun}, see {other}"
