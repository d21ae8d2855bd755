from gpuc.isolation.matrix import State
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.network_paths import changes_network, network_after, pair_state, pair_verdicts
from gpuc.plan.tenant_pairs import pairs_raised


@impact("IMP402", Level.NONE, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_declared(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, and the spec declares this.

    Tenants without network isolation have declared that other tenants without network isolation may connect.
    """
    if not changes_network(change):
        return
    before, objects = pair_verdicts(change.before), change.after.objects
    found = [
        verdict
        for pair, verdict in pair_verdicts(network_after(change)).items()
        if verdict.state is State.DECLARED and pair_state(before.get(pair)) is State.BLOCKED
    ]
    yield from pairs_raised(
        change, found, "can", lambda one: Raised("", "", objects.find("", "Namespace", one.connections[0].server))
    )
