from gpuc.isolation.proof import State
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.network_paths import changes_network, network_after, pair_verdicts, pairs_raised


@impact("IMP403", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_separated(change: Change) -> Impacts:
    """Pods of a tenant can no longer connect to pods of another tenant.

    New connections fail. Whether open connections end depends on the network policy engine. NetworkPolicies filter TCP,
    UDP and SCTP, not EFA traffic, and not the traffic of pods on the host network. The node of a pod can always connect
    to the pod.
    """
    if changes_network(change):
        before, after = pair_verdicts(change.before), pair_verdicts(network_after(change))
        found = [
            verdict
            for pair, verdict in before.items()
            if pair in after and verdict.state is not State.BLOCKED is after[pair].state
        ]
        yield from pairs_raised(change, found, "can no longer")
