from gpuc.isolation.matrix import State, Verdict
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.network_paths import changes_network, network_after, pair_state, pair_verdicts
from gpuc.plan.tenant_pairs import pairs_raised


@impact("IMP401", Level.DISRUPTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_connect(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, and could not before.

    The isolation proof of the state after has an open pair that the state before does not have. The level is
    disrupts, although nothing that runs is disturbed: every later attack or mistake crosses the border of a tenant.
    """
    if not changes_network(change):
        return

    def place(verdict: Verdict) -> Raised:
        connection = verdict.connections[0]
        allowance = connection.ingress if connection.ingress.policy else connection.egress
        if allowance.policy is not None:
            return Raised("", "", allowance.policy.manifest, allowance.path)
        return Raised("", "", change.after.objects.find("", "Namespace", connection.server))

    before = pair_verdicts(change.before)
    found = [
        verdict
        for pair, verdict in pair_verdicts(network_after(change)).items()
        if verdict.state is State.OPEN and pair_state(before.get(pair)) is not State.OPEN
    ]
    yield from pairs_raised(change, found, "can", place)
