from gpuc.isolation.proof import State
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.network_paths import changes_network, network_after, pair_states, pair_verdicts, pairs_raised


@impact("IMP402", Level.NONE, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_declared(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, and the spec declares this.

    Tenants without network isolation have declared that other tenants without network isolation may connect.
    """
    if changes_network(change):
        before, after = pair_states(change.before), pair_verdicts(network_after(change))
        found = [
            verdict
            for pair, verdict in after.items()
            if verdict.state is State.DECLARED and before[pair] is State.BLOCKED
        ]
        yield from pairs_raised(change, found, "can")
