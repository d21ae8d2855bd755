from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.network_paths import changes_network, isolation_raised, network_after, unisolated_changes


@impact("IMP407", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def isolation_begins(change: Change) -> Impacts:
    """Namespaces of a tenant get NetworkPolicies that isolate their pods.

    Only connections that a NetworkPolicy allows are possible. New connections of running pods to other addresses fail.
    NetworkPolicies filter TCP, UDP and SCTP, not EFA traffic, and not the traffic of pods on the host network. The node
    of a pod can always connect to the pod.
    """
    effect = "have only the connections that NetworkPolicies allow"
    if changes_network(change):
        for tenant, _, names in unisolated_changes(network_after(change), change.before):
            yield isolation_raised(change, tenant, names, effect)
