"""A table of connections: with each engine, pods reach what the spec declares, and nothing else."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

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
_INTERNET = {"cidr": "0.0.0.0/0", "except": ["172.16.0.0/12"]}
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


@pytest.mark.parametrize(
    ("blocks", "target", "port", "allowed"),
    [
        # With the VPC CNI, an excluded range is closed for wider ranges of other policies.
        ([_INTERNET, {"cidr": "172.0.0.0/8"}], Target("172.17.0.1", "world"), 443, ["cilium"]),
        ([_INTERNET, {"cidr": "172.0.0.0/8"}], Target("172.1.0.1", "world"), 443, ["vpc-cni", "cilium"]),
        # C2 and C3 on the old output: on Cilium, an address of the node has no effect. With the VPC CNI, the addresses
        # of the API server do not open its Service.
        ([{"cidr": "169.254.170.23/32"}], TARGETS["Pod Identity agent"], 80, ["vpc-cni"]),
        ([{"cidr": "10.0.250.0/28"}], TARGETS["API server service"], 443, ["cilium"]),
    ],
)
def test_the_engines_read_ranges_differently(
    blocks: list[dict[str, Any]], target: Target, port: int, allowed: list[str]
) -> None:
    bodies = ({"spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": block}]}]}} for block in blocks)
    policies = [Manifest("f", (), "networking.k8s.io/v1", "NetworkPolicy", "p", body) for body in bodies]
    engines = {name: engine(policies, {}, NODE) for name, engine in ENGINES.items()}
    assert [name for name, engine in engines.items() if engine.allows(target, "TCP", port)] == allowed


@pytest.mark.parametrize("engine", ENGINES)
def test_the_facts_of_every_engine_are_complete(engine: str) -> None:
    facts = load().datapaths[engine]
    assert set(facts) == {fact.subject for facts in load().datapaths.values() for fact in facts.values()}
    for fact in facts.values():
        assert bool(fact.entity) == ("entity" in fact.matched_by)
        assert fact.source
        assert not fact.statement.endswith(".")
