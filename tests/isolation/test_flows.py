"""A table of connections: with each engine, pods reach what the spec declares, and nothing else."""

from __future__ import annotations

import copy
from functools import cache

import pytest

from gpuc.catalog import load
from gpuc.emit.tenants import tenants
from gpuc.manifest.manifest import Manifest
from gpuc.model import resolve
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from tests.conftest import ROOT
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


@cache
def engine_of(name: str, namespace: str) -> VpcCni | Cilium:
    file = "specs/prod-use1.yaml"
    tree = copy.deepcopy(read(ROOT, file).tree)
    tree["spec"]["cloud"]["aws"]["networkPolicyEngine"] = name
    cluster = resolve(ClusterSpec.model_validate(tree), file, load())
    manifests = [manifest for manifest in tenants(cluster) if isinstance(manifest, Manifest)]
    labels = {manifest.name: dict(manifest.labels) for manifest in manifests if manifest.kind == "Namespace"}
    for space in (*labels, "kube-system", "monitoring", "default"):
        labels.setdefault(space, {})["kubernetes.io/metadata.name"] = space
    kinds = ("NetworkPolicy", "CiliumNetworkPolicy")
    policies = [manifest for manifest in manifests if manifest.kind in kinds and manifest.namespace == namespace]
    return ENGINES[name](policies, labels, NODE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("client", "target", "protocol", "port", "allowed"), FLOWS)
def test_c2_c3_pods_reach_what_the_spec_declares_and_nothing_else(
    engine: str, client: str, target: str, protocol: str, port: int, allowed: tuple[str, ...]
) -> None:
    decided = engine_of(engine, client).allows(TARGETS[target], protocol, port)
    assert decided == (engine in allowed)


def test_c2_an_address_of_the_node_in_a_network_policy_has_no_effect_on_cilium() -> None:
    """The policies of the old output."""
    block = {"to": [{"ipBlock": {"cidr": "169.254.170.23/32"}}], "ports": [{"port": 80, "protocol": "TCP"}]}
    old = Manifest("f", (), "networking.k8s.io/v1", "NetworkPolicy", "p", {"spec": {"egress": [block]}}, "n")
    assert VpcCni([old], {}, NODE).allows(TARGETS["Pod Identity agent"], "TCP", 80)
    assert not Cilium([old], {}, NODE).allows(TARGETS["Pod Identity agent"], "TCP", 80)


def test_c3_the_addresses_of_the_api_server_do_not_open_its_service() -> None:
    """The policies of the old output."""
    block = {"to": [{"ipBlock": {"cidr": "10.0.250.0/28"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
    old = Manifest("f", (), "networking.k8s.io/v1", "NetworkPolicy", "p", {"spec": {"egress": [block]}}, "n")
    assert not VpcCni([old], {}, NODE).allows(TARGETS["API server service"], "TCP", 443)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_facts_of_every_engine_are_complete(engine: str) -> None:
    facts = load().datapaths[engine]
    assert set(facts) == {fact.subject for facts in load().datapaths.values() for fact in facts.values()}
    for fact in facts.values():
        assert bool(fact.entity) == ("entity" in fact.matched_by)
        assert fact.source
        assert not fact.statement.endswith(".")
