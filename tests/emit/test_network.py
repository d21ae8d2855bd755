"""NetworkPolicies of tenants: default deny, and exceptions that are as narrow as intended."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from itertools import combinations
from typing import Any

from gpuc.emit.network import egress_cidrs
from gpuc.emit.tenants import tenants
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Tenant
from gpuc.model.names import WHY
from gpuc.substrates.eks.scaling import aws
from tests.conftest import Variant
from tests.emit.fleet import of_kind

INSTANCE_METADATA = ip_address("169.254.169.254")
RULES = {"ingress": "from", "egress": "to"}


def policies(cluster: Cluster, namespace: str = "") -> dict[tuple[str, str], Manifest]:
    """Returns the NetworkPolicies by namespace and name."""
    found = of_kind(tenants(cluster), "NetworkPolicy")
    return {(policy.namespace, policy.name): policy for policy in found if namespace in ("", policy.namespace)}


def rules(policy: Manifest) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yields peers and ports of all rules."""
    for direction, peers in RULES.items():
        for rule in policy.body["spec"].get(direction, []):
            yield rule[peers], rule.get("ports", [])


def peers(cluster: Cluster) -> Iterator[tuple[Manifest, dict[str, Any]]]:
    for policy in policies(cluster).values():
        for some, _ in rules(policy):
            yield from ((policy, peer) for peer in some)


def test_isolation_by_namespace_alone_has_no_policies(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["tenants"]["search"].update(isolation="namespace"))
    assert {namespace for namespace, _ in policies(cluster)} == {"research-train", "research-lab", "embeddings"}


def test_nothing_opens_the_instance_metadata_or_pods_by_address(reference: Cluster) -> None:
    ranges = [ip_network(cidr) for cidr in reference.network.pod_cidrs]
    blocks = [peer["ipBlock"] for _, peer in peers(reference) if "ipBlock" in peer]
    assert len(blocks) > 10
    for block in blocks:
        excluded = [ip_network(text) for text in block.get("except", ())]
        for closed in (ip_network(INSTANCE_METADATA), *ranges):
            is_excluded = any(closed.subnet_of(network) for network in excluded)
            assert is_excluded or not ip_network(block["cidr"]).overlaps(closed)


def test_c2_the_dns_cache_is_allowed_where_the_spec_declares_it(reference: Cluster, variant: Variant) -> None:
    ((some, ports),) = rules(policies(reference)["search-train", "allow-node-local-dns"])
    assert some == [{"ipBlock": {"cidr": "169.254.20.10/32"}}]
    assert {(port["port"], port["protocol"]) for port in ports} == {(53, "UDP"), (53, "TCP")}
    without = variant(lambda spec: spec["network"].pop("nodeLocalDns"))
    assert not [name for _, name in policies(without) if name == "allow-node-local-dns"]
    assert "169.254.20.10/32" not in egress_cidrs(without, without.tenants[0])


def test_c26_an_exception_is_only_in_the_namespaces_that_need_it(reference: Cluster, variant: Variant) -> None:
    """On the old output, search-train had the ingress of search-serving."""
    found = {name for namespace, name in policies(reference) if namespace == "search-train"}
    assert {name for name in found if "gress-" in name} == {"allow-egress-10-30-0-0-24", "allow-egress-ranges-3b3f7b14"}

    for_all = variant(lambda spec: spec["tenants"]["search"]["network"]["ingress"][0].pop("only"))
    assert ("search-train", "allow-ingress-ingress-nginx") in policies(for_all)


def test_rules_for_one_range_share_a_policy(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        more = {"cidr": "10.20.0.0/16", "ports": [{"port": 5432, "protocol": "TCP"}], "why": "labels"}
        spec["tenants"]["search"]["network"]["egress"].append(more)

    found = policies(variant(change))
    policy = found["search-serving", "allow-egress-10-20-0-0-16"]
    assert [ports[0]["port"] for _, ports in rules(policy)] == [6379, 5432]
    assert policy.annotations[WHY] == "feature store; labels"
    assert found["search-train", "allow-egress-10-20-0-0-16"].annotations[WHY] == "labels"


def test_a_change_of_other_entries_renames_no_policy(variant: Variant, reference: Cluster) -> None:
    """Names have no numbers of entries, and the order of ranges has no effect."""

    def change(spec: dict[str, Any]) -> None:
        network = spec["tenants"]["search"]["network"]
        network["egress"].reverse()
        network["egress"][0]["cidrs"].reverse()
        network["ingress"].reverse()

    assert set(policies(variant(change))) == set(policies(reference))


def test_policies_for_some_pods_and_for_all_pods_are_separate(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        internet = spec["tenants"]["search"]["network"]["internet"]
        spec["tenants"]["search"]["network"]["internet"] = internet | {"onlyPods": {"app": "loader"}}
        more = {"cidr": "10.20.0.0/16", "ports": [5432], "why": "labels", "onlyPods": {"app": "loader"}}
        spec["tenants"]["search"]["network"]["egress"].append(more)

    found = {name: policy.body["spec"] for (space, name), policy in policies(variant(change), "search-serving").items()}
    (some,) = [spec for name, spec in found.items() if name.startswith("allow-egress-10-20-0-0-16-pods-")]
    assert some["podSelector"] == {"matchLabels": {"app": "loader"}}
    assert found["allow-egress-10-20-0-0-16"]["podSelector"] == {}
    assert found["default-deny"]["podSelector"] == {}


def test_the_internet_excludes_public_addresses_of_the_cluster(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["network"] |= {"podCidrs": ["5.0.0.0/16"], "apiServerCidrs": ["52.1.1.0/28"]}

    (rule,) = policies(variant(change))["search-train", "allow-internet"].body["spec"]["egress"]
    excluded = rule["to"][0]["ipBlock"]["except"]
    assert {"5.0.0.0/16", "52.1.1.0/28", "10.0.0.0/8"} <= set(excluded)
    networks = [ip_network(text) for text in excluded]
    assert not [pair for pair in combinations(networks, 2) if pair[0].overlaps(pair[1])]
    assert any(INSTANCE_METADATA in network for network in networks)


def test_without_metric_ports_nothing_is_opened_to_prometheus(variant: Variant, reference: Cluster) -> None:
    cluster = variant(lambda spec: spec["tenants"]["search"]["network"].update(metrics=[]))
    assert ("search-train", "allow-metrics") not in policies(cluster)
    ((some, ports),) = rules(policies(reference)["search-train", "allow-metrics"])
    assert some == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
        }
    ]
    assert [port["port"] for port in ports] == [8080]


def test_c25_s3_behind_a_gateway_endpoint_is_a_declared_range(reference: Cluster, variant: Variant) -> None:
    without = variant(lambda spec: spec["cloud"]["aws"].pop("s3GatewayCidrs"))
    ((endpoints, _),) = rules(policies(without)["search-train", "allow-endpoints"])
    assert [peer["ipBlock"]["cidr"] for peer in endpoints] == ["10.0.240.0/24"]
    assert set(aws(reference).s3_gateway_cidrs) <= set(egress_cidrs(reference, tenant(reference, "search")))


def on_cilium(spec: dict[str, Any]) -> None:
    spec.setdefault("network", {})["policyEngine"] = "cilium"


def test_c2_cilium_allows_services_on_the_node_as_entities(variant: Variant) -> None:
    """No ipBlock of a NetworkPolicy matches an address of the node."""
    cluster = variant(on_cilium)
    policies = of_kind(tenants(cluster), "CiliumNetworkPolicy")
    found = {(policy.namespace, policy.name): policy.body["spec"] for policy in policies}
    dns = [{"port": "53", "protocol": "UDP"}, {"port": "53", "protocol": "TCP"}]
    assert {namespace for namespace, _ in found} == set(cluster.tenant_namespaces)
    assert found["research-train", "allow-pod-identity"] == to_entity("host", [{"port": "80", "protocol": "TCP"}])
    assert found["research-train", "allow-node-local-dns"] == to_entity("host", dns)
    assert found["research-train", "allow-api-server"] == to_entity(
        "kube-apiserver", [{"port": "443", "protocol": "TCP"}]
    )
    assert ("search-train", "allow-api-server") not in found
    blocks = {peer["ipBlock"]["cidr"] for _, peer in peers(cluster) if "ipBlock" in peer}
    assert not [block for block in blocks if block.startswith(("169.254.", "172.20."))]
    assert not blocks & set(cluster.network.api_server_cidrs)
    assert not [cidr for cidr in egress_cidrs(cluster, tenant(cluster, "research")) if cidr.startswith("169.254.")]


def to_entity(entity: str, ports: list[dict[str, str]]) -> dict[str, Any]:
    return {"endpointSelector": {}, "egress": [{"toEntities": [entity], "toPorts": [{"ports": ports}]}]}


def tenant(cluster: Cluster, name: str) -> Tenant:
    return next(tenant for tenant in cluster.tenants if tenant.name == name)
