from gpuc.isolation.matrix import State
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.network_paths import changes_network, network_after, pair_state, pair_verdicts
from gpuc.plan.tenant_pairs import pairs_raised


@impact("IMP403", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_separated(change: Change) -> Impacts:
    """Pods of a tenant can no longer connect to pods of another tenant.

    New connections fail. Whether open connections end depends on the network policy engine. NetworkPolicies filter TCP,
    UDP and SCTP, not EFA traffic, and not the traffic of pods on the host network. The node of a pod can always connect
    to the pod.
    """
    if not changes_network(change):
        return
    after, objects = pair_verdicts(network_after(change)), change.after.objects
    found = [
        verdict
        for pair, verdict in pair_verdicts(change.before).items()
        if verdict.state is not State.BLOCKED and pair in after and pair_state(after[pair]) is State.BLOCKED
    ]
    yield from pairs_raised(
        change,
        found,
        "can no longer",
        lambda one: Raised("", "", objects.find("", "Namespace", one.connections[0].server)),
    )
