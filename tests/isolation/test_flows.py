"""A table of connections: with each engine, pods reach what the spec declares, and nothing else."""

from __future__ import annotations

import copy
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
from tests.tables import table

ENGINES = {"vpc-cni": VpcCni, "cilium": Cilium}
NODE = "10.0.2.2"
_TABLE = table(__file__, "flows.yaml")
TARGETS = {name: Target(**keys) for name, keys in _TABLE["targets"].items()}


SOURCES = {name: Target(**keys) for name, keys in _TABLE["sources"].items()}
HUB_TARGETS = {name: Target(**keys) for name, keys in _TABLE["hub_targets"].items()}


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
    app: str = "other",
    root: Path = ROOT,
    file: str = "specs/prod-use1.yaml",
) -> VpcCni | Cilium:
    objects = manifests(root, file, name)
    labels = {manifest.name: dict(manifest.labels) for manifest in objects if manifest.kind == "Namespace"}
    for space in (*labels, "kube-system", "monitoring", "default", "ingress-nginx"):
        labels.setdefault(space, {})["kubernetes.io/metadata.name"] = space
    kinds = ("NetworkPolicy", "CiliumNetworkPolicy")
    policies = [manifest for manifest in objects if manifest.kind in kinds and manifest.namespace == namespace]
    return ENGINES[name](policies, labels, NODE, direction, {"app": app})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("client", "target", "protocol", "port", "allowed"), _TABLE["flows"])
def test_c2_c3_pods_reach_what_the_spec_declares_and_nothing_else(
    engine: str, client: str, target: str, protocol: str, port: int, allowed: list[str]
) -> None:
    decided = engine_of(engine, client).allows(TARGETS[target], protocol, port)
    assert decided == (engine in allowed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("namespace", "app", "client", "port", "allowed"), _TABLE["ingress"])
def test_clients_reach_what_the_spec_declares_and_nothing_else(
    engine: str, namespace: str, app: str, client: str, port: int, allowed: list[str]
) -> None:
    decided = engine_of(engine, namespace, "ingress", app).allows(SOURCES[client], "TCP", port)
    assert decided == (engine in allowed)


@pytest.mark.parametrize(("namespace", "app", "target", "protocol", "port", "allowed"), _TABLE["hub_egress"])
def test_host_names_open_only_addresses_outside_of_the_cluster(
    namespace: str, app: str, target: str, protocol: str, port: int, allowed: bool
) -> None:
    engine = engine_of("cilium", namespace, "egress", app, HUB, "specs/vega-prod.yaml")
    assert engine.allows(HUB_TARGETS[target], protocol, port) == allowed


@pytest.mark.parametrize(("namespace", "app", "client", "port", "allowed"), _TABLE["hub_ingress"])
def test_a_public_api_is_open_to_its_clients_only(
    namespace: str, app: str, client: str, port: int, allowed: bool
) -> None:
    engine = engine_of("cilium", namespace, "ingress", app, HUB, "specs/vega-prod.yaml")
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
