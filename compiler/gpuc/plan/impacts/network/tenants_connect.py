from gpuc.isolation.proof import State, Verdict
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.network_paths import changes_network, network_after, pair_states, pair_verdicts, pairs_raised


@impact("IMP401", Level.DISRUPTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_connect(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, and could not before.

    The isolation proof of the state after has an open pair that the state before does not have. The level is
    disrupts, although nothing that runs is disturbed: every later attack or mistake crosses the border of a tenant.
    """
    if changes_network(change):
        before, after = pair_states(change.before), pair_verdicts(network_after(change))
        opened = {pair: found for pair, found in after.items() if found.state is State.OPEN is not before[pair]}
        yield from pairs_raised(change, opened.values(), "can", _place)


def _place(verdict: Verdict) -> Raised | None:
    """Returns the policy that allows the connections."""
    connection = verdict.connections[0]
    allowance = connection.ingress if connection.ingress.policy else connection.egress
    return Raised("", "", allowance.policy.manifest, allowance.path) if allowance.policy else None
