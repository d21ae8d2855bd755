from collections.abc import Iterator

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.policy_changes import PolicyChange, by_policy, perhaps_refused, policy_changes
from gpuc.plan.refused_workloads import refused_templates, refused_workloads


@impact("IMP301", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/violations.md, enforcementAction")
def policy_stricter(change: Change) -> Impacts:
    """The stage of a policy rises to deny, or a policy with this stage is new.

    Running pods stay. The policy checks each new pod, also the pods that a controller creates again after an eviction
    or the loss of a node.
    """
    stricter = (policy for policy in policy_changes(change) if policy.is_stricter and policy.after == "deny")
    for found in by_policy(stricter):
        message = f"stage {found[0].stages}: the API server refuses violations"
        yield found[0].raised(message, _refused(change, found), perhaps_refused(change, ()))


def _refused(change: Change, found: list[PolicyChange]) -> Iterator[str]:
    """Yields how many workloads and templates the policy would refuse. Other impacts name them."""
    deciding = [policy.pair.after for policy in found]
    for noun, refused, other in (
        ("object{} of --workloads", refused_workloads(change), "IMP305"),
        ("workload template{}", refused_templates(change), "IMP306"),
    ):
        if count := sum(workload.step.manifest in deciding for workload in refused):
            yield f"it would refuse {count} {noun.format('' if count == 1 else 's')}, see {other}"
