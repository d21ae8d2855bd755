"""NetworkPolicies of tenants: default deny, and exceptions that are as narrow as intended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from itertools import combinations
from typing import Any

from gpuc.emit.bootstrap import bootstrap
from gpuc.emit.network import egress_cidrs
from gpuc.emit.network_exceptions import ingress_blocks
from gpuc.emit.project import project
from gpuc.emit.tenants import tenants
from gpuc.kubernetes import addresses
from gpuc.manifest.manifest import Manifest, Text
from gpuc.model import Cluster, Tenant
from gpuc.model.names import WHY
from gpuc.substrates.eks.scaling import aws
from tests.conftest import example

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]

INSTANCE_METADATA = ip_address("169.254.169.254")
RULES = {"ingress": "from", "egress": "to"}


def policies(cluster: Cluster, namespace: str = "") -> dict[tuple[str, str], Manifest]:
    """Returns the NetworkPolicies by namespace and name."""
    found = (
        manifest for manifest in tenants(cluster) if isinstance(manifest, Manifest) and manifest.kind == "NetworkPolicy"
    )
    return {
        (manifest.namespace, manifest.name): manifest for manifest in found if namespace in ("", manifest.namespace)
    }


def rules(policy: Manifest) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yields peers and ports of all rules."""
    for direction, peers in RULES.items():
        for rule in policy.body["spec"].get(direction, []):
            yield rule[peers], rule.get("ports", [])


def peers(cluster: Cluster) -> Iterator[tuple[Manifest, dict[str, Any]]]:
    for policy in policies(cluster).values():
        for some, _ in rules(policy):
            yield from ((policy, peer) for peer in some)


def test_every_namespace_of_an_isolated_tenant_denies_by_default(reference: Cluster) -> None:
    found = policies(reference)
    for namespace in reference.tenant_namespaces:
        spec = found[namespace, "default-deny"].body["spec"]
        assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_isolation_by_namespace_alone_has_no_policies(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["tenants"]["search"].update(isolation="namespace"))
    assert {namespace for namespace, _ in policies(cluster)} == {"research-train", "research-lab", "embeddings"}


def test_directions_are_those_of_the_rules(reference: Cluster) -> None:
    for (_, name), policy in policies(reference).items():
        if name != "default-deny":
            spec = policy.body["spec"]
            written = [key.capitalize() for key in ("ingress", "egress") if spec.get(key)]
            assert spec["policyTypes"] == written, name
            assert written, name


def test_no_rule_opens_everything(reference: Cluster) -> None:
    for (_, name), policy in policies(reference).items():
        for some, ports in rules(policy):
            assert some, f"{name}: a rule without peers allows everybody"
            assert all(peer for peer in some), f"{name}: an empty peer allows everybody"
            assert ports or name == "allow-tenant", f"{name}: a rule without ports allows all of them"


def test_nothing_opens_the_instance_metadata_or_pods_by_address(reference: Cluster) -> None:
    ranges = [ip_network(cidr) for cidr in reference.network.pod_cidrs]
    blocks = [peer["ipBlock"] for _, peer in peers(reference) if "ipBlock" in peer]
    assert len(blocks) > 10
    for block in blocks:
        excluded = [ip_network(text) for text in block.get("except", ())]
        for closed in (ip_network(INSTANCE_METADATA), *ranges):
            is_excluded = any(closed.subnet_of(network) for network in excluded)
            assert is_excluded or not ip_network(block["cidr"]).overlaps(closed)


def test_selected_namespaces_exist(reference: Cluster) -> None:
    labels = [
        manifest.labels
        for manifest in tenants(reference)
        if isinstance(manifest, Manifest) and manifest.kind == "Namespace"
    ]
    platform = {*reference.platform_namespaces, "ingress-nginx"}
    for policy, peer in peers(reference):
        if "ipBlock" in peer:
            continue
        ((key, value),) = peer["namespaceSelector"]["matchLabels"].items()
        if key == "kubernetes.io/metadata.name":
            assert value in platform, policy
        else:
            assert any(namespace_labels.get(key) == value for namespace_labels in labels), policy


def test_a_tenant_selects_no_other_tenant(reference: Cluster) -> None:
    owner = {space.name: tenant.name for tenant, space in reference.namespaces}
    seen = set()
    for policy, peer in peers(reference):
        selected = peer.get("namespaceSelector", {}).get("matchLabels", {}).get("gpuc.dev/tenant")
        if selected:
            assert selected == owner[policy.namespace]
            seen.add(policy.namespace)
    assert seen == set(owner)


def test_dns_is_asked_of_the_resolver_only_over_both_protocols(reference: Cluster) -> None:
    for namespace in reference.tenant_namespaces:
        ((some, ports),) = rules(policies(reference)[namespace, "allow-dns"])
        assert {(port["port"], port["protocol"]) for port in ports} == {(53, "UDP"), (53, "TCP")}
        assert [set(peer) for peer in some] == [{"namespaceSelector", "podSelector"}]


def test_c2_the_dns_cache_is_allowed_where_the_spec_declares_it(reference: Cluster, variant: Variant) -> None:
    ((some, ports),) = rules(policies(reference)["search-train", "allow-node-local-dns"])
    assert some == [{"ipBlock": {"cidr": "169.254.20.10/32"}}]
    assert {(port["port"], port["protocol"]) for port in ports} == {(53, "UDP"), (53, "TCP")}
    without = variant(lambda spec: spec["network"].pop("nodeLocalDns"))
    assert not [name for _, name in policies(without) if name == "allow-node-local-dns"]
    assert "169.254.20.10/32" not in egress_cidrs(without, without.tenants[0])


def test_namespaces_of_a_tenant_reach_each_other_on_every_port(reference: Cluster) -> None:
    spec = policies(reference)["research-train", "allow-tenant"].body["spec"]
    peer = {"namespaceSelector": {"matchLabels": {"gpuc.dev/tenant": "research"}}}
    assert spec["ingress"] == [{"from": [peer]}]
    assert spec["egress"] == [{"to": [peer]}]


def test_declared_exceptions_have_a_reason(reference: Cluster) -> None:
    found = policies(reference)
    assert found["search-serving", "allow-egress-10-20-0-0-16"].annotations[WHY] == "feature store"
    assert found["search-serving", "allow-ingress-ingress-nginx"].annotations[WHY] == "public API"
    assert not {name for namespace, name in found if namespace.startswith("research") and "gress-" in name}


def test_c26_an_exception_is_only_in_the_namespaces_that_need_it(reference: Cluster, variant: Variant) -> None:
    """On the old output, search-train had the ingress of search-serving."""
    found = {name for namespace, name in policies(reference) if namespace == "search-train"}
    assert {name for name in found if "gress-" in name} == {"allow-egress-10-30-0-0-24", "allow-egress-ranges-3b3f7b14"}

    def for_all(spec: dict[str, Any]) -> None:
        del spec["tenants"]["search"]["network"]["ingress"][0]["only"]

    assert ("search-train", "allow-ingress-ingress-nginx") in policies(variant(for_all))


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


def test_s4_health_checks_pass_where_the_internet_may_connect() -> None:
    """An NLB keeps the addresses of clients, but its health checks come from its own private addresses."""
    cluster = example("vega-prod")
    (name,) = [name for namespace, name in policies(cluster) if name.startswith("allow-from-internet")]
    ((found, ports),) = rules(policies(cluster)["api-serving", name])
    internet, *checks = [peer["ipBlock"] for peer in found]
    assert checks == [{"cidr": "10.40.32.0/24"}, {"cidr": "10.40.33.0/24"}]
    assert ports == [{"port": 8443, "protocol": "TCP"}]
    public = addresses.block(internet["cidr"], internet["except"])
    assert not any(addresses.contains(public, peer["cidr"].partition("/")[0]) for peer in checks)
    (tenant,) = [tenant for tenant in cluster.tenants if tenant.name == "api"]
    assert [peer["cidr"] for peer in ingress_blocks(cluster, tenant)] == ["10.40.32.0/24", "10.40.33.0/24", "0.0.0.0/0"]


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


def test_only_default_deny_stays_until_an_engineer_deletes_it(reference: Cluster) -> None:
    options = "argocd.argoproj.io/sync-options"
    protected = {name for (_, name), policy in policies(reference).items() if options in policy.annotations}
    assert protected == {"default-deny"}


def test_endpoints_and_credentials_are_reached_on_their_ports_only(reference: Cluster) -> None:
    ((endpoints, https),) = rules(policies(reference)["search-train", "allow-endpoints"])
    assert {peer["ipBlock"]["cidr"] for peer in endpoints} == {
        *reference.network.endpoint_cidrs,
        *aws(reference).s3_gateway_cidrs,
    }
    assert https == [{"port": 443, "protocol": "TCP"}]
    ((agent, http),) = rules(policies(reference)["search-train", "allow-pod-identity"])
    assert agent == [{"ipBlock": {"cidr": "169.254.170.23/32"}}], "the address of the EKS Pod Identity agent"
    assert http == [{"port": 80, "protocol": "TCP"}]


def test_c3_the_api_server_is_allowed_at_the_address_of_its_service(reference: Cluster) -> None:
    """The VPC CNI judges a packet before the address of a Service is replaced."""
    ((some, ports),) = rules(policies(reference)["research-train", "allow-api-server"])
    assert [peer["ipBlock"]["cidr"] for peer in some] == ["10.0.250.0/28", "172.20.0.1/32"]
    assert ports == [{"port": 443, "protocol": "TCP"}]
    assert "172.20.0.1/32" in egress_cidrs(reference, tenant(reference, "research"))


def test_c3_only_a_tenant_that_declares_the_api_server_reaches_it(reference: Cluster) -> None:
    assert ("search-train", "allow-api-server") not in policies(reference)
    assert not {"10.0.250.0/28", "172.20.0.1/32"} & set(egress_cidrs(reference, tenant(reference, "search")))


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
    found = {
        (manifest.namespace, manifest.name): manifest.body["spec"]
        for manifest in tenants(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == "CiliumNetworkPolicy"
    }
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


def test_c2_the_project_allows_the_kind_where_it_is_used(reference: Cluster, variant: Variant) -> None:
    allowed = {"group": "cilium.io", "kind": "CiliumNetworkPolicy"}
    assert allowed in project(variant(on_cilium), ()).body["spec"]["namespaceResourceWhitelist"]
    assert allowed not in project(reference, ()).body["spec"]["namespaceResourceWhitelist"]


def readme(cluster: Cluster) -> str:
    return next(
        file.text for file in bootstrap(cluster, (), []) if isinstance(file, Text) and file.text.startswith("# ")
    )


def test_c25_the_readme_enables_strict_mode(reference: Cluster) -> None:
    """The namespaces of the platform get a policy first: in strict mode, a pod without a policy has no network."""
    text = readme(reference)
    assert '"env": {"NETWORK_POLICY_ENFORCING_MODE": "strict"}' in text
    (line,) = (line for line in text.splitlines() if "for PLATFORM_NAMESPACE in" in line)
    named = line.removesuffix("; do").split()[3:]
    assert {"kube-system", "monitoring", "ingress-nginx", "gatekeeper-system", "jobset-system"} <= set(named)
    assert not set(named) & set(reference.tenant_namespaces)


def test_s5_the_readme_names_the_settings_of_cilium_for_efa(reference: Cluster, variant: Variant) -> None:
    text = readme(variant(on_cilium))
    assert "eni.awsEnablePrefixDelegation: true" in text
    assert "ENI has no IP address" in text
    assert "--addon-name vpc-cni" not in text
    assert "awsEnablePrefixDelegation" not in readme(reference)


def to_entity(entity: str, ports: list[dict[str, str]]) -> dict[str, Any]:
    return {"endpointSelector": {}, "egress": [{"toEntities": [entity], "toPorts": [{"ports": ports}]}]}


def tenant(cluster: Cluster, name: str) -> Tenant:
    return next(tenant for tenant in cluster.tenants if tenant.name == name)
