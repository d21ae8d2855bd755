"""A table of connections: with each engine, pods reach what the spec declares, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from gpuc.catalog import load
from gpuc.emit.tenants import tenants
from gpuc.manifest.manifest import Manifest
from gpuc.model import resolve
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from tests.conftest import HUB, ROOT
from tests.isolation.datapath import Cilium, Target, VpcCni

ENGINES = {"vpc-cni": VpcCni, "cilium": Cilium}
NODE = "10.0.2.2"
KUBE_DNS = {"k8s-app": "kube-dns"}
PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}
TARGETS = {
    "DNS service": Target("172.20.0.10", "pod", "10.0.1.5", "kube-system", KUBE_DNS, KUBE_DNS),
    "DNS pod": Target("10.0.1.5", "pod", "", "kube-system", KUBE_DNS),
    "DNS cache": Target("169.254.20.10", "host"),
    "Pod Identity agent": Target("169.254.170.23", "host"),
    "instance metadata": Target("169.254.169.254", "world"),
    "API server service": Target("172.20.0.1", "kube-apiserver", "10.0.250.3", "default"),
    "API server": Target("10.0.250.3", "kube-apiserver"),
    "interface endpoint": Target("10.0.240.7", "world"),
    "S3 gateway": Target("52.216.1.1", "world"),
    "feature store": Target("10.20.1.1", "world"),
    "label database": Target("10.51.0.9", "world"),
    "public address of documentation": Target("192.0.2.7", "world"),
    "internet": Target("1.1.1.1", "world"),
    "pod of research": Target("10.0.4.4", "pod", "", "research-lab", {"app": "x"}),
    "service of research": Target("172.20.9.1", "pod", "10.0.4.4", "research-lab", {"app": "x"}, {"app": "x"}),
    "pod of search": Target("10.0.5.5", "pod", "", "search-serving", {"app": "x"}),
    "service of search": Target("172.20.9.2", "pod", "10.0.5.5", "search-serving", {"app": "x"}, {"app": "x"}),
    "service of the platform": Target("172.20.9.3", "pod", "10.0.6.6", "monitoring", PROMETHEUS, PROMETHEUS),
    "own node": Target(NODE, "host"),
    "other node": Target("10.0.3.3", "remote-node"),
}
BOTH = ("vpc-cni", "cilium")
FLOWS: list[tuple[str, str, str, int, tuple[str, ...]]] = [
    # The namespace of the client, the target, protocol and port, and the engines that allow the connection.
    ("research-train", "DNS service", "UDP", 53, BOTH),
    ("research-train", "DNS service", "TCP", 53, BOTH),
    ("research-train", "DNS pod", "UDP", 53, BOTH),
    ("research-train", "DNS service", "TCP", 9153, ()),
    ("research-train", "DNS cache", "UDP", 53, BOTH),
    ("research-train", "DNS cache", "TCP", 53, BOTH),
    ("research-train", "DNS cache", "TCP", 9253, ()),
    ("research-train", "Pod Identity agent", "TCP", 80, BOTH),
    ("research-train", "Pod Identity agent", "TCP", 2703, ()),
    ("research-train", "instance metadata", "TCP", 80, ()),
    ("research-train", "instance metadata", "TCP", 443, ()),
    ("research-train", "API server service", "TCP", 443, BOTH),
    ("research-train", "API server", "TCP", 443, BOTH),
    ("research-train", "API server", "TCP", 10250, ()),
    ("search-train", "API server service", "TCP", 443, ()),
    ("search-train", "API server", "TCP", 443, ()),
    ("research-train", "interface endpoint", "TCP", 443, BOTH),
    ("research-train", "interface endpoint", "TCP", 80, ()),
    ("research-train", "S3 gateway", "TCP", 443, BOTH),
    ("research-train", "feature store", "TCP", 6379, ()),
    ("search-serving", "feature store", "TCP", 6379, BOTH),
    ("search-serving", "feature store", "TCP", 22, ()),
    ("search-train", "feature store", "TCP", 6379, ()),
    ("search-serving", "internet", "TCP", 443, ()),
    ("search-train", "internet", "TCP", 443, BOTH),
    ("search-train", "internet", "UDP", 443, ()),
    ("search-train", "internet", "TCP", 22, ()),
    ("search-train", "S3 gateway", "TCP", 443, BOTH),
    ("search-train", "interface endpoint", "TCP", 443, BOTH),  # in a range that the internet excludes
    ("search-train", "public address of documentation", "TCP", 443, ()),
    ("search-train", "instance metadata", "TCP", 443, ()),
    ("search-train", "pod of research", "TCP", 443, ()),
    ("search-train", "service of research", "TCP", 443, ()),
    ("search-train", "pod of search", "TCP", 443, BOTH),
    ("search-train", "other node", "TCP", 443, ()),
    ("search-train", "service of the platform", "TCP", 443, ()),
    ("search-train", "Pod Identity agent", "TCP", 80, BOTH),
    ("search-train", "DNS cache", "UDP", 53, BOTH),
    ("search-train", "label database", "TCP", 5432, BOTH),
    ("search-train", "label database", "TCP", 443, ()),
    ("search-serving", "label database", "TCP", 5432, ()),
    ("research-train", "pod of research", "TCP", 29500, BOTH),
    ("research-train", "service of research", "TCP", 29500, BOTH),
    ("research-train", "pod of search", "TCP", 8000, ()),
    ("research-train", "service of search", "TCP", 8000, ()),
    ("research-train", "service of the platform", "TCP", 9090, ()),
    ("research-train", "own node", "TCP", 10250, ("vpc-cni",)),  # no policy can deny it; gpuc isolation prints it
    ("research-train", "own node", "TCP", 80, BOTH),  # the entity host on the port of the Pod Identity agent
    ("research-train", "other node", "TCP", 10250, ()),
    ("research-train", "other node", "TCP", 80, ()),
]


SERVER, OTHER = {"app": "server"}, {"app": "other"}
SOURCES = {
    "client on the internet": Target("1.1.1.1", "world"),
    "ALB": Target("10.0.225.9", "world"),
    "ingress-nginx": Target("10.0.7.7", "pod", "", "ingress-nginx", OTHER),
    "gateway of Cilium": Target("10.0.8.8", "ingress"),
    "pod of research": TARGETS["pod of research"],
    "pod of nlp": Target("10.129.4.4", "pod", "", "nlp-lab", SERVER),
    "other node": TARGETS["other node"],
    "prometheus": Target("10.0.6.6", "pod", "", "monitoring", PROMETHEUS),
    "vmagent": Target("10.129.6.7", "pod", "", "monitoring", {"app.kubernetes.io/name": "vmagent"}),
    "probes": Target("10.129.6.8", "pod", "", "monitoring", {"app": "blackbox-exporter"}),
}
INGRESS: list[tuple[str, Mapping[str, str], str, int, tuple[str, ...]]] = [
    # The namespace and the labels of the server, the client, the TCP port, and the engines that allow the connection.
    ("search-serving", SERVER, "ingress-nginx", 8000, BOTH),
    ("search-serving", SERVER, "ALB", 8000, BOTH),
    ("search-serving", SERVER, "ALB", 443, ()),
    ("search-serving", SERVER, "client on the internet", 8000, ()),
    ("search-serving", SERVER, "pod of research", 8000, ()),
    ("search-serving", SERVER, "other node", 8000, ()),
    ("search-serving", SERVER, "prometheus", 8080, BOTH),
    ("search-train", SERVER, "ALB", 8000, ()),
]
HUB_TARGETS = {
    "a name": Target("18.1.1.1", "world", host="huggingface.co"),
    "a name below a domain": Target("18.1.1.2", "world", host="cdn.eu.hf.co"),
    "the domain": Target("18.1.1.3", "world", host="hf.co"),
    "a similar name": Target("18.1.1.4", "world", host="evil-hf.co"),
    "a name of a private address": Target("10.40.3.3", "world", host="a.hf.co"),
    "a name of a pod": Target("10.129.4.4", "pod", "", "nlp-lab", SERVER, host="b.hf.co"),
    "a name of a node": Target("10.40.3.4", "remote-node", host="c.hf.co"),
    "an address": Target("18.1.1.5", "world"),
    "DNS": Target("172.20.0.10", "pod", "10.129.1.5", "kube-system", KUBE_DNS, KUBE_DNS),
    "database": Target("10.192.17.4", "world"),
}
HUB_EGRESS: list[tuple[str, Mapping[str, str], str, str, int, bool]] = [
    # The namespace and the labels of the client, the target, protocol and port, and whether Cilium allows it.
    ("finance-notebooks", OTHER, "a name", "TCP", 443, True),
    ("finance-notebooks", OTHER, "a name", "TCP", 80, False),
    ("finance-notebooks", OTHER, "a name below a domain", "TCP", 443, True),
    ("finance-notebooks", OTHER, "the domain", "TCP", 443, False),
    ("finance-notebooks", OTHER, "a similar name", "TCP", 443, False),
    ("finance-notebooks", OTHER, "a name of a private address", "TCP", 443, True),  # the owner of the name decides
    ("finance-notebooks", OTHER, "a name of a pod", "TCP", 443, False),
    ("finance-notebooks", OTHER, "a name of a node", "TCP", 443, False),
    ("finance-notebooks", OTHER, "an address", "TCP", 443, False),
    ("finance-notebooks", OTHER, "DNS", "UDP", 53, True),
    ("finance-notebooks", OTHER, "DNS", "TCP", 9153, False),
    ("finance-train", OTHER, "a name", "TCP", 443, False),
    ("finance-train", OTHER, "DNS", "UDP", 53, True),
    ("nlp-train", OTHER, "an address", "TCP", 443, True),
    ("nlp-train", OTHER, "a name of a private address", "TCP", 443, False),
    ("api-serving", SERVER, "database", "TCP", 5432, True),
    ("api-serving", OTHER, "database", "TCP", 5432, False),
]
HUB_INGRESS: list[tuple[str, Mapping[str, str], str, int, bool]] = [
    ("api-serving", SERVER, "client on the internet", 8443, True),
    ("api-serving", OTHER, "client on the internet", 8443, False),
    ("api-serving", SERVER, "client on the internet", 8000, False),
    ("api-serving", SERVER, "pod of nlp", 8443, False),
    ("api-serving", SERVER, "other node", 8443, False),
    ("api-serving", OTHER, "gateway of Cilium", 8000, True),
    ("api-serving", OTHER, "gateway of Cilium", 8443, False),
    ("api-batch", OTHER, "gateway of Cilium", 8000, False),
    ("api-serving", OTHER, "probes", 8000, True),
    ("api-serving", OTHER, "vmagent", 8000, False),
    ("api-serving", OTHER, "vmagent", 8080, True),
    ("api-serving", OTHER, "prometheus", 8080, False),
]


@cache
def manifests(root: Path, file: str, engine: str) -> tuple[Manifest, ...]:
    tree = copy.deepcopy(read(root, file).tree)
    tree["spec"].setdefault("network", {})["policyEngine"] = engine
    cluster = resolve(ClusterSpec.model_validate(tree), file, load())
    return tuple(manifest for manifest in tenants(cluster) if isinstance(manifest, Manifest))


def engine_of(
    name: str,
    namespace: str,
    direction: str = "egress",
    pod: Mapping[str, str] = OTHER,
    root: Path = ROOT,
    file: str = "specs/prod-use1.yaml",
) -> VpcCni | Cilium:
    objects = manifests(root, file, name)
    labels = {manifest.name: dict(manifest.labels) for manifest in objects if manifest.kind == "Namespace"}
    for space in (*labels, "kube-system", "monitoring", "default", "ingress-nginx"):
        labels.setdefault(space, {})["kubernetes.io/metadata.name"] = space
    kinds = ("NetworkPolicy", "CiliumNetworkPolicy")
    policies = [manifest for manifest in objects if manifest.kind in kinds and manifest.namespace == namespace]
    return ENGINES[name](policies, labels, NODE, direction, pod)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("client", "target", "protocol", "port", "allowed"), FLOWS)
def test_c2_c3_pods_reach_what_the_spec_declares_and_nothing_else(
    engine: str, client: str, target: str, protocol: str, port: int, allowed: tuple[str, ...]
) -> None:
    decided = engine_of(engine, client).allows(TARGETS[target], protocol, port)
    assert decided == (engine in allowed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("namespace", "pod", "client", "port", "allowed"), INGRESS)
def test_clients_reach_what_the_spec_declares_and_nothing_else(
    engine: str, namespace: str, pod: Mapping[str, str], client: str, port: int, allowed: tuple[str, ...]
) -> None:
    decided = engine_of(engine, namespace, "ingress", pod).allows(SOURCES[client], "TCP", port)
    assert decided == (engine in allowed)


@pytest.mark.parametrize(("namespace", "pod", "target", "protocol", "port", "allowed"), HUB_EGRESS)
def test_host_names_open_only_addresses_outside_of_the_cluster(
    namespace: str, pod: Mapping[str, str], target: str, protocol: str, port: int, allowed: bool
) -> None:
    engine = engine_of("cilium", namespace, "egress", pod, HUB, "specs/vega-prod.yaml")
    assert engine.allows(HUB_TARGETS[target], protocol, port) == allowed


@pytest.mark.parametrize(("namespace", "pod", "client", "port", "allowed"), HUB_INGRESS)
def test_a_public_api_is_open_to_its_clients_only(
    namespace: str, pod: Mapping[str, str], client: str, port: int, allowed: bool
) -> None:
    engine = engine_of("cilium", namespace, "ingress", pod, HUB, "specs/vega-prod.yaml")
    assert engine.allows(SOURCES[client], "TCP", port) == allowed


def test_an_excluded_range_is_closed_for_wider_ranges_of_other_policies_with_the_vpc_cni() -> None:
    internet = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["172.16.0.0/12"]}}]}
    wider = {"to": [{"ipBlock": {"cidr": "172.0.0.0/8"}}]}
    both = [
        Manifest(
            "f", (), "networking.k8s.io/v1", "NetworkPolicy", name, {"spec": {"podSelector": {}, "egress": [rule]}}
        )
        for name, rule in (("internet", internet), ("wider", wider))
    ]
    for address, allowed in (("172.17.0.1", ["cilium"]), ("172.1.0.1", ["vpc-cni", "cilium"])):
        target = Target(address, "world")
        assert [
            name for name, engine in ENGINES.items() if engine(both, {}, NODE).allows(target, "TCP", 443)
        ] == allowed


def test_c2_an_address_of_the_node_in_a_network_policy_has_no_effect_on_cilium() -> None:
    """The policies of the old output."""
    block = {"to": [{"ipBlock": {"cidr": "169.254.170.23/32"}}], "ports": [{"port": 80, "protocol": "TCP"}]}
    old = Manifest(
        "f", (), "networking.k8s.io/v1", "NetworkPolicy", "p", {"spec": {"podSelector": {}, "egress": [block]}}, "n"
    )
    assert VpcCni([old], {}, NODE).allows(TARGETS["Pod Identity agent"], "TCP", 80)
    assert not Cilium([old], {}, NODE).allows(TARGETS["Pod Identity agent"], "TCP", 80)


def test_c3_the_addresses_of_the_api_server_do_not_open_its_service() -> None:
    """The policies of the old output."""
    block = {"to": [{"ipBlock": {"cidr": "10.0.250.0/28"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
    old = Manifest(
        "f", (), "networking.k8s.io/v1", "NetworkPolicy", "p", {"spec": {"podSelector": {}, "egress": [block]}}, "n"
    )
    assert not VpcCni([old], {}, NODE).allows(TARGETS["API server service"], "TCP", 443)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_facts_of_every_engine_are_complete(engine: str) -> None:
    facts = load().datapaths[engine]
    assert set(facts) == {fact.subject for facts in load().datapaths.values() for fact in facts.values()}
    for fact in facts.values():
        assert bool(fact.entity) == ("entity" in fact.matched_by)
        assert fact.source
        assert not fact.statement.endswith(".")
