"""Rules about the network policy engine: the network plugin must have the features that a tenant needs."""

from gpuc.diagnostics.finding import Path, Related
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule

ENGINE: Path = ("spec", "network", "policyEngine")
REASONS = {
    "calico": "gpuc has no verified facts about the packets that policies of Calico match",
    "cilium-on-vpc-cni": "gpuc has verified Cilium only as the single CNI plugin, not chained on the VPC CNI",
}


@rule("NET004")
def engine_without_facts(cluster: Cluster) -> Findings:
    """gpuc does not support the network policy engine of the cluster."""
    engine, known = cluster.network.policy_engine, cluster.substrate.policy_engines
    if engine not in known:
        reason = REASONS.get(engine, f"{cluster.substrate.sections.title} do not have this program")
        expected = f"expected {', '.join(known[:-1])} or {known[-1]}"
        yield Found(ENGINE, f"policyEngine is {engine}; {reason}; {expected}")


@rule("NET003")
def unenforced_isolation(cluster: Cluster) -> Findings:
    """Tenants are isolated by NetworkPolicies, but no network plugin enforces NetworkPolicies."""
    tenants = [tenant for tenant in cluster.tenants if tenant.isolates_network]
    if cluster.network.policy_engine == "none" and tenants:
        isolated = ", ".join(f"{tenant.name} ({tenant.spec.isolation})" for tenant in tenants)
        message = f"network.policyEngine is none, but these tenants need NetworkPolicies: {isolated}"
        related = [Related(f"isolation of tenant {tenant.name}", (*tenant.path, "isolation")) for tenant in tenants]
        yield Found(ENGINE, message, related=related)


@rule("NET005")
def api_server_without_service_range(cluster: Cluster) -> Findings:
    """A tenant uses the API server, but its NetworkPolicies do not allow the address of the Service kubernetes."""
    fact = cluster.datapath.get("api-server")
    if fact is None or "ip-block" not in fact.matched_by or cluster.network.service_cidr is not None:
        return
    for tenant in cluster.tenants:
        if tenant.spec.network.api_server and tenant.isolates_network:
            actual = f"tenant {tenant.name} has apiServer: true, but network has no serviceCidr"
            effect = f"with policyEngine {fact.engine}, pods cannot connect to Service kubernetes"
            fix = f"set network.serviceCidr to {cluster.substrate.service_range(cluster.spec)}"
            yield Found((*tenant.path, "network", "apiServer"), f"{actual}; {effect}", fix)


@rule("NET008")
def gateway_without_cilium(cluster: Cluster) -> Findings:
    """A tenant allows the gateways of Cilium, but Cilium is not the network policy engine."""
    fact = cluster.datapath.get("gateway")
    for tenant in cluster.tenants if fact is None or not fact.entity else ():
        for index, ingress in enumerate(tenant.spec.network.ingress):
            if ingress.gateway:
                actual = f"ingress of tenant {tenant.name} has gateway: true"
                path = (*tenant.path, "network", "ingress", index, "gateway")
                yield _without_cilium(cluster, path, actual, "the namespace of the gateway's pods")


@rule("NET007")
def names_without_cilium(cluster: Cluster) -> Findings:
    """A tenant may connect to host names, but the network policy engine supports no rules with host names."""
    fact = cluster.datapath.get("named")
    for tenant in cluster.tenants if fact is None or "name" not in fact.matched_by else ():
        for index, egress in enumerate(tenant.spec.network.egress):
            if egress.names is not None:
                path = (*tenant.path, "network", "egress", index, "names")
                actual = f"egress of tenant {tenant.name} has names"
                yield _without_cilium(cluster, path, actual, "cidrs, or network.internet")


def _without_cilium(cluster: Cluster, path: Path, actual: str, expected: str) -> Found:
    """Returns the finding about a feature that only Cilium has."""
    engine = cluster.network.policy_engine
    message = f"{actual}, but network.policyEngine is {engine}; expected {expected}, or policyEngine cilium"
    return Found(path, message, related=[Related(f"the engine is {engine}", ENGINE)])
