from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.network_paths import changes_network, isolation_raised, network_after, unisolated_changes

_EFFECTS = {INGRESS: "get connections from everywhere", EGRESS: "connect to every address"}


@impact("IMP406", Level.DISRUPTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def isolation_ends(change: Change) -> Impacts:
    """Namespaces of a tenant lose the NetworkPolicies that isolate their pods.

    Pods that no NetworkPolicy selects get connections from everywhere, or connect to every address. The level is
    disrupts, although nothing that runs is disturbed: the border of the tenant is gone.
    """
    if changes_network(change):
        for tenant, directions, names in unisolated_changes(change.before, network_after(change)):
            effects = " and ".join(_EFFECTS[direction] for direction in directions)
            yield isolation_raised(change, tenant, names, f"can {effects}")
